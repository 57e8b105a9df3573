package kafka

import (
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/share"
)

// newShareReceiver opens a receiver in a share group. Beside it, a receiver of the classic kind reads the channel's
// tiers.
func newShareReceiver(
	ctx context.Context, b *Backend, from driver.Channel, o driver.ReceiverOptions,
) (driver.Receiver, error) {
	group := b.channels.Group(from)
	lock, err := share.LockOf(ctx, b.cluster.Client, group)
	if err != nil {
		return nil, err
	}
	tiers, err := newReceiver(ctx, b, from, o, toRetry)
	if err != nil {
		return nil, err
	}
	delays := b.o.channel(from).Tiers
	r, err := share.NewReceiver(ctx, &share.Config{
		Channel: from, Options: o, Topic: b.channels.Topic(from), Group: group,
		Lock: lock, LeastRetry: delays[0], LongestRetry: longestWait, FetchWait: fetchWait,
		Rack: b.o.Rack, Point: func(d *driver.Delivery) { send.Point(b.o.Store, d) },
		SayTimes: func() {
			if !b.timesSaid.Swap(true) {
				b.log.Warn(sendersTimes, "topic", tiers.sub.topic)
			}
		},
		Open:  func() (*client.Client, error) { return b.cluster.Dial() },
		Tiers: tiers, Held: tiers.ledger.Holds,
		Retry: func(ctx context.Context, rs []records.Copy) []error { return tiers.sub.retry.Put(ctx, laterOf(rs)) },
		Reject: func(ctx context.Context, rs []records.Copy) []error {
			return tiers.sub.dead.Put(ctx, rejectedOf(rs, group))
		},
		Recall: func(ctx context.Context, partitions []int32) deadletter.Known {
			return tiers.group.recallAll(ctx, partitions)
		},
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}
