package kafka

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Purge deletes the records of a channel's topic and tiers, up to the end of the log at the time of the call. A topic
// keeps its records once for all groups, so that all of them lose the records: Purged.Others names them. Records that a
// consumer has fetched are still handled. To skip records for one group only, rewind it to the end.
func (b *Backend) Purge(ctx context.Context, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	depth, err := b.Inspect(ctx, ch)
	if err != nil {
		return p, err
	}
	p.Messages = depth.All()
	if p.Others, err = b.otherReaders(ctx, ch); err != nil || dry {
		return p, err
	}
	topics, err := b.tiersOf(ctx, ch)
	if err != nil {
		return p, err
	}
	topics = append(topics, b.topicOf(ch))
	ends, err := b.cluster.Offsets(ctx, cluster.End, topics...)
	if err != nil {
		return p, err
	}
	deleted, err := b.cluster.Admin.DeleteRecords(ctx, ends.Offsets())
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		return p, fmt.Errorf("delete the records of channel %s: %w", ch, failure.Classify(err))
	}
	return p, nil
}

// tiersOf returns the tiers of a channel that exist, also those of delays that its options do not have any more.
func (b *Backend) tiersOf(ctx context.Context, ch driver.Channel) (tiers []string, err error) {
	if ch.DeadLetter {
		return nil, nil
	}
	all, err := b.cluster.Admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the topics: %w", failure.Classify(err))
	}
	for topic := range all {
		if b.names.IsTier(ch, topic) {
			tiers = append(tiers, topic)
		}
	}
	slices.Sort(tiers)
	return tiers, nil
}

// otherReaders returns the groups that read a channel's topic besides the channel's own: those with Godwit's names, and
// those that have committed offsets of the topic.
func (b *Backend) otherReaders(ctx context.Context, ch driver.Channel) ([]string, error) {
	groups, err := b.readers(ctx, b.topicOf(ch))
	return slices.DeleteFunc(groups, func(group string) bool {
		return ch.Queue != "" && (group == b.names.Group(ch) || !ch.DeadLetter && group == b.names.Retries(ch))
	}), err
}

func (b *Backend) readers(ctx context.Context, topic string) ([]string, error) {
	r, err := b.readership(ctx)
	if err != nil {
		return nil, err
	}
	return r.of(topic)
}

// readership is what all groups read.
type readership struct {
	names     layout.Names
	groups    []string
	committed kadm.FetchOffsetsResponses
}

func (b *Backend) readership(ctx context.Context) (readership, error) {
	groups, err := b.cluster.Groups(ctx)
	if err != nil {
		return readership{}, err
	}
	r := readership{names: b.names, groups: groups}
	r.committed = b.cluster.Admin.FetchManyOffsets(ctx, r.groups...)
	return r, nil
}

// of returns the groups that read a topic: they have Godwit's names, or have committed offsets of the topic.
func (r readership) of(topic string) (readers []string, err error) {
	for _, group := range r.groups {
		err := failure.Classify(r.committed[group].Err)
		if err != nil && driver.ClassOf(err) != driver.NotFound {
			return nil, fmt.Errorf("look up what group %s reads: %w", group, err)
		}
		_, ours := r.names.Reads(topic, group)
		if ours || slices.ContainsFunc(r.committed[group].Fetched.Sorted(), func(o kadm.OffsetResponse) bool {
			return o.Topic == topic && o.At >= 0
		}) {
			readers = append(readers, group)
		}
	}
	slices.Sort(readers)
	return readers, nil
}
