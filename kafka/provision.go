package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Ensure creates the topics that a channel needs, or reports what is missing. It changes the configuration of existing
// topics only for an owner. It never changes the number of partitions of the channel's topic, because keys would move
// to other partitions; tiers get as many partitions as the channel's topic has. What Options.Names maps, and dead
// letters if they are the channel, are only looked up. For an owner it also checks that its group can be joined, and
// commits where the group begins.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.legal(s.Channel); err != nil {
		return err
	}
	if err := possible(s); err != nil {
		return err
	}
	if err := bearable(s, b.o.channel(s.Channel)); err != nil {
		return err
	}
	if s.Owner {
		b.provisioner.Remember(s)
	}
	if b.o.Store != nil && !s.Channel.DeadLetter {
		if err := b.o.Store.Ensure(ctx, s.Mode); err != nil {
			return fmt.Errorf("channel %s: the store of large messages: %w", s.Channel, err)
		}
	}
	if s.Mode == driver.Never {
		return nil
	}
	if !s.Owner || s.Channel.Queue == "" || s.Channel.DeadLetter || s.Again {
		return b.provisioner.Ensure(ctx, s)
	}
	if err := b.fits(ctx, s.Channel); err != nil {
		return err
	}
	if err := b.provisioner.Ensure(ctx, s); err != nil {
		return err
	}
	sub := subscribe(b, s.Channel, driver.ReceiverOptions{}, toHandle, nil)
	if s.Mode.Creates() || sub.set.Start.From == StartCommitted { // which commits nothing
		return sub.start(ctx)
	}
	return nil
}

// Find checks that dead letters exist. Whether their records are in order cannot be seen at a topic.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.open(); err != nil {
		return dead, err
	}
	if err := b.legal(dead); err != nil {
		return dead, err
	}
	_, err := b.cluster.Find(ctx, b.channels.DeadLetters(dead))
	return dead, err
}

// possible returns an error for settings that Kafka has no feature for.
func possible(s driver.ChannelSpec) error {
	switch {
	case s.Delay != 0:
		return failure.Permanent("channel %s: a topic cannot delay all of its messages (Delay %v): leave out Delay, "+
			"and delay single messages on a channel without order", s.Channel, s.Delay)
	case s.Encryption != "":
		return failure.Permanent("channel %s: a topic has no encryption key of its own (Encryption %q): leave it "+
			"out, and encrypt the brokers' disks or the bodies", s.Channel, s.Encryption)
	}
	return nil
}

// bearable refuses a retry that would hold up its key for longer than the options allow: no record would come to it.
func bearable(s driver.ChannelSpec, o ChannelOptions) error {
	if o.tiered() || s.LongestRetry <= o.MaxBlock {
		return nil
	}
	return failure.Permanent("channel %s: a retry waits for up to %v, and a failing record may hold up its key for %v "+
		"(MaxBlock), so that the record would be rejected instead: raise kafka.Options.MaxBlock, shorten the backoff, "+
		"or set Retries to RetryPark or RetryAlone", s.Channel, s.LongestRetry, o.MaxBlock)
}

// plan is driver.Operations.Plan.
func (b *Backend) plan(ctx context.Context, specs []driver.ChannelSpec) ([]driver.Difference, error) {
	for _, s := range specs {
		if err := errors.Join(b.check(s.Channel), possible(s), bearable(s, b.o.channel(s.Channel))); err != nil {
			return nil, err
		}
	}
	return b.provisioner.Plan(ctx, specs, b.o.Store)
}
