package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Inspect counts what a group has not committed yet: from OffsetFetch and ListOffsets, with offsets that no transaction
// can still take back. (DescribeGroups does not know the groups of KIP-848.) What is in flight is part of what waits,
// because a log does not tell it apart; records in tiers count as delayed.
func (b *Backend) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	if err := b.open(); err != nil {
		return driver.Depth{}, err
	}
	if err := b.legal(ch); err != nil {
		return driver.Depth{}, err
	}
	if ch.Queue == "" {
		return driver.Depth{}, failure.Permanent("channel %s: an exchange has no group: inspect its channels", ch)
	}
	name := b.topicOf(ch)
	if _, err := b.topics.find(ctx, name); err != nil {
		return driver.Depth{}, err
	}
	d := driver.Depth{Oldest: -1}
	share := b.o.channel(ch).GroupProtocol == GroupShare && !ch.DeadLetter
	group := b.names.Group(ch)
	l := lag{b.admin}
	ask := l.committed
	if share {
		ask = l.shared
	}
	committed, err := ask(ctx, group)
	if err != nil {
		return d, err
	}
	if d.Waiting, err = l.behind(ctx, name, committed); err != nil {
		return d, err
	}
	if o := b.o.channel(ch); ch.DeadLetter || !o.tiered() || b.o.RetryQueue != nil {
		return d, nil
	}
	if share {
		if committed, err = l.committed(ctx, b.names.Retries(ch)); err != nil {
			return d, err
		}
	}
	for _, tier := range b.o.channel(ch).Tiers {
		n, err := l.behind(ctx, b.names.Tier(ch, tier), committed)
		if err != nil && driver.ClassOf(err) != driver.NotFound {
			return d, err
		}
		d.Delayed += n
	}
	return d, nil
}

// lag is how far groups are behind.
type lag struct{ admin *kadm.Client }

// committed is how far a group has come; one that does not exist is nowhere.
func (l lag) committed(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	got, err := l.admin.FetchOffsets(ctx, group)
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask what group %s has committed: %w", group, failure.Classify(err))
	}
	return got, nil
}

// shared is how far a share group has come: everything before is settled.
func (l lag) shared(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	all, err := l.admin.DescribeShareGroupOffsets(ctx, group)
	if err == nil {
		err = all[group].Err
	}
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask how far share group %s has come: %w", group, failure.Classify(err))
	}
	got := kadm.OffsetResponses{}
	for topic, ps := range all[group].Offsets {
		for n, o := range ps {
			got.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, Partition: n, At: o.StartOffset}, Err: o.Err})
		}
	}
	return got, nil
}

// behind is how many offsets of a topic lie at and beyond what is committed.
func (l lag) behind(ctx context.Context, topic string, committed kadm.OffsetResponses) (n int64, err error) {
	starts, err := l.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("ask where the log of topic %s starts: %w", topic, failure.Classify(err))
	}
	ends, err := l.admin.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("ask where the log of topic %s ends: %w", topic, failure.Classify(err))
	}
	ends.Each(func(end kadm.ListedOffset) {
		from := int64(0)
		if start, ok := starts.Lookup(topic, end.Partition); ok {
			from = start.Offset
		}
		if c, ok := committed.Lookup(topic, end.Partition); ok && c.Err == nil {
			from = max(from, c.At)
		}
		n += max(0, end.Offset-from)
	})
	return n, nil
}
