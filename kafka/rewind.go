package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Rewind changes where the group of a channel goes on: it commits the position without Godwit's metadata. A consumer
// that finds such a commit takes no record for finished or dead-lettered. Records in retry tiers are handled as well.
func (b *Backend) Rewind(ctx context.Context, ch driver.Channel, to driver.Position, dry bool) (
	[]driver.PartitionRewind, error,
) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := b.legal(ch); err != nil {
		return nil, err
	}
	if ch.Queue == "" {
		return nil, failure.Permanent("channel %s: an exchange has no group: rewind one of its channels", ch)
	}
	t, err := b.cluster.Find(ctx, b.topicOf(ch))
	if err != nil {
		return nil, err
	}
	group := b.names.Group(ch)
	if b.o.channel(ch).GroupProtocol == GroupShare && !ch.DeadLetter {
		return nil, failure.Permanent("channel %s: the broker keeps the position of share group %s: change it with "+
			"kafka-share-groups.sh --reset-offsets", ch, group)
	}
	if err := b.idle(ctx, ch, group); err != nil {
		return nil, err
	}
	r := rewind{Cluster: b.cluster, topic: t, group: group}
	all, err := r.plan(ctx, to)
	if err != nil || dry {
		return all, err
	}
	return all, r.commit(ctx, all)
}

// idle returns an error if a group has members.
func (b *Backend) idle(ctx context.Context, ch driver.Channel, group string) error {
	members, err := b.cluster.Members(ctx, group)
	if err != nil || len(members) == 0 {
		return err
	}
	return failure.Permanent("channel %s: group %s has %d members, whose commits would undo the rewind: stop %s first",
		ch, group, len(members), strings.Join(cluster.Texts(members), ", "))
}

// rewind is the change of one group's position in one topic.
type rewind struct {
	*cluster.Cluster
	topic cluster.Topic
	group string
}

// plan returns where the group goes on, by partition.
func (r *rewind) plan(ctx context.Context, to driver.Position) ([]driver.PartitionRewind, error) {
	starts, err := r.Offsets(ctx, cluster.Start, r.topic.Name)
	if err != nil {
		return nil, err
	}
	ends, err := r.Offsets(ctx, cluster.End, r.topic.Name)
	if err != nil {
		return nil, err
	}
	wanted := starts
	switch to.From {
	case driver.FromStart:
	case driver.FromEnd:
		wanted = ends
	case driver.FromTime:
		if wanted, err = r.Offsets(ctx, cluster.After(to.Time), r.topic.Name); err != nil {
			return nil, err
		}
	case driver.FromOffset:
	default:
		return nil, failure.Permanent("rewind group %s: the kind of the position is %d: it must be one of package "+
			"driver", r.group, to.From)
	}
	committed, err := r.Committed(ctx, r.group)
	if err != nil {
		return nil, err
	}
	for _, n := range to.Partitions {
		if _, ok := starts.Lookup(r.topic.Name, n); !ok {
			return nil, failure.Permanent("rewind group %s: topic %s has no partition %d: it has 0 to %d", r.group,
				r.topic.Name, n, r.topic.Partitions-1)
		}
	}
	var all []driver.PartitionRewind
	for n, start := range starts[r.topic.Name] {
		if to.Partitions != nil && !slices.Contains(to.Partitions, n) {
			continue
		}
		end, _ := ends.Lookup(r.topic.Name, n)
		one := driver.PartitionRewind{Partition: n, Was: -1}
		if at, ok := wanted.Lookup(r.topic.Name, n); ok && at.Offset >= 0 {
			one.To = min(max(at.Offset, start.Offset), end.Offset)
		} else {
			one.To = end.Offset // no message is as late
		}
		if to.From == driver.FromOffset {
			if one.To = to.Offset; one.To < start.Offset || one.To > end.Offset {
				return nil, failure.Permanent("rewind group %s: offset %d is not in partition %d of topic %s, which has "+
					"%d to %d: name the partitions for which the offset is meant", r.group, to.Offset, n, r.topic.Name,
					start.Offset, end.Offset)
			}
		}
		now := start.Offset // without a commit, Godwit's consumers begin at the start
		if c, ok := committed.Lookup(r.topic.Name, n); ok && c.Err == nil && c.At >= 0 {
			one.Was = c.At
			now = min(max(c.At, start.Offset), end.Offset)
		}
		one.Again, one.Skipped = max(0, now-one.To), max(0, one.To-now)
		all = append(all, one)
	}
	slices.SortFunc(all, func(x, y driver.PartitionRewind) int { return cmp.Compare(x.Partition, y.Partition) })
	return all, nil
}

// commit commits the planned positions, without metadata.
func (r *rewind) commit(ctx context.Context, all []driver.PartitionRewind) error {
	var os kadm.Offsets
	for _, one := range all {
		os.AddOffset(r.topic.Name, one.Partition, one.To, -1)
	}
	if err := r.Admin.CommitAllOffsets(ctx, r.group, os); err != nil {
		return fmt.Errorf("commit the new position of group %s: %w", r.group, failure.Classify(err))
	}
	return nil
}
