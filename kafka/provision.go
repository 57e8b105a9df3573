package kafka

import (
	"context"

	"github.com/godwitmq/godwit/driver"
)

// Ensure creates the topics that a channel needs, or reports what is missing. It changes the configuration of existing
// topics only for an owner. It never changes the number of partitions of the channel's topic, because keys would move
// to other partitions; tiers get as many partitions as the channel's topic has. What Options.Names maps, and dead
// letters if they are the channel, are only looked up. For an owner it also checks that its group can be joined, and
// commits where the group begins.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.provisioner.Prepare(ctx, s); err != nil || s.Mode == driver.Never {
		return err
	}
	if !s.Owner || s.Channel.Queue == "" || s.Channel.DeadLetter || s.Again {
		return b.provisioner.Ensure(ctx, s)
	}
	if err := (&joining{b.cluster, b.channels, &b.o}).fits(ctx, s.Channel); err != nil {
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
	if err := b.legal(dead); err != nil {
		return dead, err
	}
	_, err := b.cluster.Find(ctx, b.channels.DeadLetters(dead))
	return dead, err
}
