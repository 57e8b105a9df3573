package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/later"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// waiting returns the messages that wait for their time in the topic of a channel of them.
func waiting(ctx context.Context, n *Namespace, ch driver.Channel) (t cluster.Topic, ms []later.Message, err error) {
	if t, err = n.find(ctx, ch); err == nil {
		ms, err = n.surveys.Of(ctx, n.Cluster, t)
	}
	return t, ms, err
}

// laterOf is where messages wait beside a channel or an exchange; false: nothing can wait beside the channel alone.
func laterOf(ch driver.Channel) (driver.Channel, bool) {
	if ch.Later || ch.DeadLetter || !alone(ch) {
		return ch, false
	}
	return driver.Channel{Queue: cmp.Or(ch.Exchange, ch.Queue), Later: true}, true
}

// waitingBeside returns where messages wait beside a channel, and how many; false: there is no such topic.
func waitingBeside(ctx context.Context, n *Namespace, of driver.Channel) (
	ch driver.Channel, messages int64, there bool, err error,
) {
	ch, possible := laterOf(of)
	if !possible {
		return ch, 0, false, nil
	}
	_, ms, err := waiting(ctx, n, ch)
	if err != nil && driver.ClassOf(err) == driver.NotFound {
		return ch, 0, false, nil
	}
	return ch, int64(len(ms)), err == nil, err
}

// inspectLater counts what is overdue as waiting, and what is not due as delayed. The age of the oldest is for how long
// it is overdue; 0: none is overdue.
func inspectLater(ctx context.Context, n *Namespace, ch driver.Channel) (driver.Depth, error) {
	var d driver.Depth
	_, ms, err := waiting(ctx, n, ch)
	if err != nil {
		return d, err
	}
	now := time.Now().UnixMilli()
	parts := map[int32]driver.PartitionDepth{}
	for _, m := range ms {
		if m.Due > now {
			d.Delayed++
			continue
		}
		age := time.Duration(now-m.Due) * time.Millisecond
		p := parts[m.Partition]
		p.Partition, p.Waiting, p.Oldest = m.Partition, p.Waiting+1, max(p.Oldest, age)
		parts[m.Partition] = p
		d.Waiting, d.Oldest = d.Waiting+1, max(d.Oldest, age)
	}
	for _, p := range parts {
		d.Partitions = append(d.Partitions, p)
	}
	slices.SortFunc(d.Partitions, func(a, b driver.PartitionDepth) int { return cmp.Compare(a.Partition, b.Partition) })
	return d, nil
}

// peekLater returns messages that wait, in the order in which they are due.
func peekLater(ctx context.Context, n *Namespace, ch driver.Channel, from driver.PeekFrom, most int) (
	[]driver.Peeked, error,
) {
	t, ms, err := waiting(ctx, n, ch)
	if err != nil {
		return nil, err
	}
	if from.ID != "" {
		part, offset, ok := placeOf(from.ID, t.Name)
		at := slices.IndexFunc(ms, func(m later.Message) bool { return m.Partition == part && m.Offset == offset })
		if !ok || at < 0 {
			return nil, &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("in topic %s waits no message %s", t.Name,
				from.ID)}
		}
		ms = ms[at:]
	}
	if !from.Time.IsZero() {
		after, err := n.Cluster.Offsets(ctx, cluster.After(from.Time), t.Name)
		if err != nil {
			return nil, err
		}
		ms = slices.DeleteFunc(ms, func(m later.Message) bool {
			at, ok := after.Lookup(t.Name, m.Partition)
			return ok && (at.Offset < 0 || m.Offset < at.Offset)
		})
	}
	if most = max(0, min(most, len(ms))); from.Last {
		ms = ms[len(ms)-most:]
	} else {
		ms = ms[:most]
	}
	rs, err := later.Records(ctx, n.Cluster, t, ms)
	if err != nil {
		return nil, err
	}
	all := make([]driver.Peeked, len(rs))
	for i, r := range rs {
		all[i] = peekedLater(n, ch, r)
	}
	return all, nil
}

// placeOf is where a message waits, by the id that peekLater gives it.
func placeOf(id, topic string) (partition int32, offset int64, ok bool) {
	if c, ok := wire.ParseCancelID(id); ok {
		return c.Partition, c.Offset, true
	}
	at, ok := wire.ParseHome(id)
	return at.N, at.Offset, ok && at.Topic == topic
}

// peekedLater is the delivery of a message that waits. The id of one that can be cancelled is the one that cancels it.
func peekedLater(n *Namespace, ch driver.Channel, r *kgo.Record) driver.Peeked {
	woken := wire.Woken(r, r.Topic)
	woken.Partition, woken.Offset, woken.Timestamp = r.Partition, r.Offset, r.Timestamp
	one := driver.Peeked{Raw: wire.Raw(r), Cancellable: wire.Cancellable(r)}
	n.Deliver(ch, woken, &one.Delivery)
	one.Delivery.ID, one.Delivery.Due = cmp.Or(wire.CancelIDOf(r), one.Delivery.ID), wire.WaitsUntil(r)
	return one
}

// purgeAtOnce is how many messages that wait are deleted in one call.
const purgeAtOnce = 10_000

// purgeLater deletes the messages that wait by tombstones: brokers delete no records of a compacted topic. One that is
// due at this moment may still be sent on.
func purgeLater(ctx context.Context, n *Namespace, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	t, ms, err := waiting(ctx, n, ch)
	p.Messages = int64(len(ms))
	if err != nil || dry {
		return p, err
	}
	for some := range slices.Chunk(ms, purgeAtOnce) {
		rs, err := later.Records(ctx, n.Cluster, t, some)
		if err != nil {
			return p, err
		}
		for i, r := range rs {
			rs[i] = &kgo.Record{Topic: t.Name, Partition: r.Partition, Key: r.Key}
		}
		for _, err := range n.Senders.Producer.Produce(ctx, rs) {
			if err != nil {
				return p, fmt.Errorf("delete messages of channel %s: %w", ch, err)
			}
		}
	}
	return p, nil
}

// refuseLater returns an error for messages that wait, with what cannot be done with them.
func refuseLater(ch driver.Channel, what string) error {
	if !ch.Later {
		return nil
	}
	return failure.Permanent("channel %s: %s: messages wait there for their time, and consumers of the channel send them "+
		"on; godwit later shows them, and cancels them or sends them at once", ch, what)
}

// laterChannels adds the channels of messages that wait to those that were found.
func (c *inventory) laterChannels(topic string) {
	if of, ok := layout.LaterOf(c.names, topic); ok {
		c.found[of] = topic
	}
}
