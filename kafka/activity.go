package kafka

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Activity counts the records that were sent, from the offsets at the time and at the end of the log, with requests for
// all topics together. Offsets of transactions' markers, and of records that compaction has removed, are counted as
// well. Consumers are the groups that read the channel: with members, or with commits that the brokers still keep.
// Brokers count neither deliveries nor commits, so the other numbers are unknown. Oldest is that of Inspect.
func (b *Backend) Activity(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	now := time.Now()
	if !since.Before(now) {
		return nil, failure.Permanent("activity since %v: that is not in the past", since)
	}
	topics := make([]string, 0, len(cs))
	for _, ch := range cs {
		topics = append(topics, b.topicOf(ch))
	}
	from, err := b.cluster.EachOffset(ctx, cluster.After(since), topics...)
	if err != nil {
		return nil, err
	}
	to, err := b.cluster.EachOffset(ctx, cluster.End, topics...)
	if err != nil {
		return nil, err
	}
	never := &driver.Error{Class: driver.Permanent, Err: driver.ErrNotCounted}
	uncounted := driver.Reading[int64]{Err: never}
	readers := b.audience(ctx, cs)
	all := make([]driver.Activity, len(cs))
	for i, ch := range cs {
		all[i] = driver.Activity{
			Channel: ch, Since: since, Until: now, Sent: sentSince(topics[i], from, to), Received: uncounted,
			EmptyReceives: uncounted, Deleted: uncounted, Delivered: uncounted, Failed: uncounted,
			Consumers: uncounted, Oldest: driver.Reading[time.Duration]{Err: never},
		}
		if ch.Queue != "" {
			all[i].Oldest, all[i].Consumers = b.oldest(ctx, ch), readers(ch)
		}
	}
	return all, ctx.Err()
}

// audience returns a function that counts the groups that read a channel. An exchange's topic has groups of several
// channels, of which only the own one counts.
func (b *Backend) audience(ctx context.Context, cs []driver.Channel) func(ch driver.Channel) driver.Reading[int64] {
	var all readership
	var err error
	if slices.ContainsFunc(cs, func(ch driver.Channel) bool { return ch.Queue != "" }) {
		all, err = b.readership(ctx)
	}
	return func(ch driver.Channel) (r driver.Reading[int64]) {
		if r.Err = err; err != nil {
			return r
		}
		var groups []string
		if groups, r.Err = all.of(b.topicOf(ch)); ch.Exchange != "" && !ch.DeadLetter {
			groups = slices.DeleteFunc(groups, func(group string) bool {
				return group != b.names.Group(ch) && group != b.names.Retries(ch)
			})
		}
		r.Value = int64(len(groups))
		return r
	}
}

// sentSince counts the offsets of a topic between two listings.
func sentSince(topic string, from, to kadm.ListedOffsets) (r driver.Reading[int64]) {
	if len(to[topic]) == 0 {
		r.Err = failure.Missing(topic)
		return r
	}
	for n, end := range to[topic] {
		begin, ok := from.Lookup(topic, n)
		switch {
		case end.Err != nil:
			return driver.Reading[int64]{Err: failure.Classify(end.Err)}
		case ok && begin.Err != nil:
			return driver.Reading[int64]{Err: failure.Classify(begin.Err)}
		case ok && begin.Offset >= 0: // otherwise no record is as late
			r.Value += max(0, end.Offset-begin.Offset)
		}
	}
	return r
}

// oldest is the age of the oldest record that a channel's group has not finished.
func (b *Backend) oldest(ctx context.Context, ch driver.Channel) (r driver.Reading[time.Duration]) {
	d, err := b.Inspect(ctx, ch)
	switch {
	case err != nil:
		r.Err = err
	case d.Oldest >= 0:
		r.Value = d.Oldest
	case d.Waiting > 0:
		r.Err = &driver.Error{Class: driver.Transient, Err: fmt.Errorf("channel %s: the time of the oldest of %d "+
			"records that are not finished could not be read", ch, d.Waiting)}
	}
	return r
}
