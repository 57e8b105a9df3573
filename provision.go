package godwit

import (
	"context"
	"fmt"
	"strconv"
	"time"

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
	p, ok := b.(driver.Provisioner)
	if !ok {
		return ch, nil
	}
	found, err := p.Find(ctx, ch)
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

// Ownership says who owns a channel, and when to alert them. It is stored as tags of the provisioned resources, from
// which alarms and clean-ups can be made. The zero value sets no tags.
type Ownership struct {
	// Owner is who looks after the channel, such as a team or a mailing list. Set it so that others know whom to ask.
	Owner string
	// Environment is where the channel belongs, such as production or staging. Set it when several of them share an
	// account.
	Environment string
	// Critical says that a person is woken up when an alarm of the channel fires. Set it when waiting until the morning
	// is too late.
	Critical bool

	// AlarmAge is the age of the oldest waiting message from which there is an alarm; 0: the default of the program
	// that creates the alarms. Set it to the delay that is not acceptable any more.
	AlarmAge time.Duration
	// AlarmDepth is the number of waiting messages from which there is an alarm; 0: the default of the program that
	// creates the alarms. Set it to more than a usual backlog.
	AlarmDepth int
	// AlarmDeadLetters is the number of dead letters from which there is an alarm; 0: the default of the program that
	// creates the alarms. Raise it when some dead letters are usual.
	AlarmDeadLetters int

	// Tags are further tags, as they are. Set them when costs or permissions of the account depend on tags.
	Tags map[string]string
}

// maxTag bounds a tag's value; SQS allows 256 characters.
const maxTag = 256

func (o *Ownership) check(field string) error {
	for _, v := range []string{o.Owner, o.Environment} {
		if len(v) > maxTag {
			return invalid(field, v, "it must have at most "+strconv.Itoa(maxTag)+" characters")
		}
	}
	for k, v := range o.Tags {
		if k == "" || len(v) > maxTag {
			return invalid(field+".Tags", k+"="+v,
				"a tag must have a name, and a value of at most "+strconv.Itoa(maxTag)+" characters")
		}
	}
	if o.AlarmAge < 0 || o.AlarmDepth < 0 || o.AlarmDeadLetters < 0 {
		return invalid(field, o.AlarmAge, "a threshold cannot be negative")
	}
	return nil
}

func (o *Ownership) tags() map[string]string {
	tags := map[string]string{}
	set := func(name, value string, there bool) {
		if there {
			tags[name] = value
		}
	}
	set("owner", o.Owner, o.Owner != "")
	set("environment", o.Environment, o.Environment != "")
	set("critical", "true", o.Critical)
	set("alarm-age", strconv.Itoa(int(o.AlarmAge/time.Second)), o.AlarmAge > 0)
	set("alarm-depth", strconv.Itoa(o.AlarmDepth), o.AlarmDepth > 0)
	set("alarm-dead-letters", strconv.Itoa(o.AlarmDeadLetters), o.AlarmDeadLetters > 0)
	for name, value := range o.Tags {
		set(name, value, true)
	}
	return tags
}
