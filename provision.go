package godwit

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// Backend carries messages: snssqs.Open, kafka.Open, local.Open and kafkalocal.Open open one. Its methods are for this
// package; authors of backends find them explained in package driver.
type Backend = driver.Backend

// ProvisionMode says how far constructors may go in making what a channel needs. Dead letters are only looked for, in
// every mode.
type ProvisionMode uint8

const (
	ProvisionAuto   ProvisionMode = iota // create what is missing; a consumer also changes what differs
	ProvisionVerify                      // change nothing; what is missing is an error
	ProvisionNever                       // make no such call at all
)

// driver is the mode in the seam's words.
func (m ProvisionMode) driver() driver.Mode {
	switch m {
	case ProvisionVerify:
		return driver.Verify
	case ProvisionNever:
		return driver.Never
	default:
		return driver.Auto
	}
}

// deadLetters is a channel of dead letters as it lies at the backend. Opening them makes and changes nothing,
// whatever the mode, because what was made here would not be what the channel's own consumer makes.
func deadLetters(
	ctx context.Context, b Backend, name, option string, ch driver.Channel,
) (driver.Channel, error) {
	f, ok := b.(driver.Finder)
	if !ok {
		return ch, nil
	}
	found, err := f.Find(ctx, ch)
	of := ch
	of.DeadLetter = false
	switch {
	case driver.ClassOf(err) == driver.NotFound && err != nil:
		return ch, wrapError("open", name, "", fmt.Errorf(
			"there are no dead letters: a consumer of %s makes them, unless it has NoDeadLetters: %w", of, err))
	case err != nil:
		return ch, wrapError("open", name, "", err)
	case ch.Ordered && !found.Ordered:
		return ch, invalid(option, ch.Ordered,
			of.String()+" is not ordered, and neither are its dead letters: leave the option out, it is looked up")
	}
	return found, nil
}

// provision asks a backend that can for what the channel needs.
func provision(ctx context.Context, b Backend, name string, spec driver.ChannelSpec) error {
	p, ok := b.(driver.Provisioner)
	if !ok || spec.Channel.DeadLetter {
		return nil
	}
	if err := p.Ensure(ctx, spec); err != nil {
		return wrapError("provision", name, "", err)
	}
	return nil
}
