package godwit

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// Backend carries messages. Open one with snssqs.Open, kafka.Open, local.Open or kafkalocal.Open. Its methods are for
// this package; package driver explains them for authors of backends.
type Backend = driver.Backend

// ProvisionMode is what constructors may do if a channel's resources are missing or differ. Dead letters are only
// looked up, in every mode.
type ProvisionMode uint8

const (
	// ProvisionAuto creates what is missing. A consumer also changes what differs, unless a topology has declared it.
	ProvisionAuto   ProvisionMode = iota
	ProvisionVerify               // change nothing; missing resources are an error
	ProvisionNever                // make no such request
	// ProvisionDeclare is ProvisionAuto for a consumer whose options are right: it also changes what a topology has
	// declared, and shortens retentions.
	ProvisionDeclare
)

// driver converts the mode for the driver.
func (m ProvisionMode) driver() driver.Mode {
	switch m {
	case ProvisionVerify:
		return driver.Verify
	case ProvisionNever:
		return driver.Never
	case ProvisionDeclare:
		return driver.Declare
	default:
		return driver.Auto
	}
}

// deadLetters looks up a channel of dead letters in the backend. It never creates or changes dead letters, because the
// channel's own consumer would create them in another way.
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
			"the dead letters do not exist: a consumer of %s without NoDeadLetters creates them: %w", of, err))
	case err != nil:
		return ch, wrapError("open", name, "", err)
	case ch.Ordered && !found.Ordered:
		return ch, invalid(option, ch.Ordered,
			of.String()+" is not ordered, and neither are its dead letters: remove the option, the order is looked up")
	}
	return found, nil
}

// provision creates or checks the resources of a channel, if the backend can.
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
