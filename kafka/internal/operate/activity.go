package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Activity is driver.Operations.Activity, as kafka.Backend describes it.
func Activity(ctx context.Context, n *Namespace, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	if err := n.Channels.Open(); err != nil {
		return nil, err
	}
	now := time.Now()
	if !since.Before(now) {
		return nil, failure.Permanent("activity since %v: that is not in the past", since)
	}
	topics := make([]string, 0, len(cs))
	for _, ch := range cs {
		topics = append(topics, n.Channels.TopicOf(ch))
	}
	from, err := n.Cluster.EachOffset(ctx, cluster.After(since), topics...)
	if err != nil {
		return nil, err
	}
	to, err := n.Cluster.EachOffset(ctx, cluster.End, topics...)
	if err != nil {
		return nil, err
	}
	never := &driver.Error{Class: driver.Permanent, Err: driver.ErrNotCounted}
	uncounted := driver.Reading[int64]{Err: never}
	readers := audience(ctx, n, cs)
	all := make([]driver.Activity, len(cs))
	for i, ch := range cs {
		all[i] = driver.Activity{
			Channel: ch, Since: since, Until: now, Sent: sentSince(topics[i], from, to), SentBytes: uncounted,
			Received: uncounted, EmptyReceives: uncounted, Deleted: uncounted, Delivered: uncounted, Failed: uncounted,
			Consumers: uncounted, Oldest: driver.Reading[time.Duration]{Err: never},
		}
		if ch.Queue != "" {
			all[i].Oldest, all[i].Consumers = oldest(ctx, n, ch), readers(ch)
		}
	}
	return all, ctx.Err()
}

// audience returns a function that counts the groups that read a channel. An exchange's topic has groups of several
// channels; only the own one counts.
func audience(ctx context.Context, n *Namespace, cs []driver.Channel) func(ch driver.Channel) driver.Reading[int64] {
	var all readership
	var err error
	if slices.ContainsFunc(cs, func(ch driver.Channel) bool { return ch.Queue != "" }) {
		all, err = n.readership(ctx)
	}
	return func(ch driver.Channel) (r driver.Reading[int64]) {
		if r.Err = err; err != nil {
			return r
		}
		var groups []string
		if groups, r.Err = all.of(n.Channels.TopicOf(ch)); ch.Exchange != "" && !ch.DeadLetter {
			groups = slices.DeleteFunc(groups, func(group string) bool {
				return group != n.Channels.Group(ch) && group != n.Channels.Retries(ch)
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
func oldest(ctx context.Context, n *Namespace, ch driver.Channel) (r driver.Reading[time.Duration]) {
	d, err := Inspect(ctx, n, ch)
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

// Members is driver.Operations.Members, as kafka.Backend describes it.
func Members(ctx context.Context, n *Namespace, ch driver.Channel) ([]driver.Member, error) {
	if ch.Queue == "" {
		return nil, failure.Permanent("channel %s: an exchange has no group: ask for one of its channels", ch)
	}
	if err := n.Channels.Legal(ch); err != nil {
		return nil, err
	}
	group, topic := n.Channels.Group(ch), n.Channels.TopicOf(ch)
	var all []cluster.Member
	var err error
	if n.Channels.Uses(ch).Share {
		all, err = n.Cluster.Sharers(ctx, group)
	} else {
		all, err = n.Cluster.Members(ctx, group)
	}
	if err != nil {
		return nil, err
	}
	members := make([]driver.Member, len(all))
	for i, m := range all {
		members[i] = driver.Member{
			ID: m.ID, Client: m.Client, Host: m.Host, Partitions: slices.Sorted(slices.Values(m.Partitions[topic])),
		}
	}
	slices.SortFunc(members, func(a, b driver.Member) int { return cmp.Compare(a.ID, b.ID) })
	// A broker may describe a member in both ways.
	return slices.CompactFunc(members, func(a, b driver.Member) bool { return a.ID == b.ID }), nil
}
