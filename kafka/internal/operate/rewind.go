package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Rewind is driver.Operations.Rewind, as kafka.Backend describes it.
func Rewind(ctx context.Context, n *Namespace, ch driver.Channel, to driver.Position, dry bool) (
	[]driver.PartitionRewind, error,
) {
	if ch.Queue == "" {
		return nil, failure.Permanent("channel %s: an exchange has no group: rewind one of its channels", ch)
	}
	if err := refuseLater(ch, "each owner reads it from the start, so that it has no position"); err != nil {
		return nil, err
	}
	t, err := n.find(ctx, ch)
	if err != nil {
		return nil, err
	}
	group := n.Channels.Group(ch)
	if n.Channels.Uses(ch).Share {
		return nil, failure.Permanent("channel %s: the broker keeps the position of share group %s: change it with "+
			"kafka-share-groups.sh --reset-offsets", ch, group)
	}
	if err := n.idle(ctx, ch, group, "whose commits would undo the rewind"); err != nil {
		return nil, err
	}
	r := Change{Cluster: n.Cluster, Topic: t, Group: group}
	all, err := r.Plan(ctx, to)
	if err != nil || dry {
		return all, err
	}
	return all, r.commit(ctx, all)
}

// Change is that of one group's position in one topic.
type Change struct {
	*cluster.Cluster
	Topic cluster.Topic
	Group string
}

// Plan returns where the group goes on, by partition.
func (r *Change) Plan(ctx context.Context, to driver.Position) ([]driver.PartitionRewind, error) {
	starts, ends, err := r.Bounds(ctx, cluster.End, r.Topic.Name)
	if err != nil {
		return nil, err
	}
	wanted := starts
	switch to.From {
	case driver.FromStart:
	case driver.FromEnd:
		wanted = ends
	case driver.FromTime:
		if wanted, err = r.Offsets(ctx, cluster.After(to.Time), r.Topic.Name); err != nil {
			return nil, err
		}
	case driver.FromOffset:
	default:
		return nil, failure.Permanent("rewind group %s: the kind of the position is %d: it must be one of package "+
			"driver", r.Group, to.From)
	}
	committed, err := r.Committed(ctx, r.Group)
	if err != nil {
		return nil, err
	}
	for _, n := range to.Partitions {
		if _, ok := starts.Lookup(r.Topic.Name, n); !ok {
			return nil, failure.Permanent("rewind group %s: topic %s has no partition %d: it has 0 to %d", r.Group,
				r.Topic.Name, n, r.Topic.Partitions-1)
		}
	}
	var all []driver.PartitionRewind
	for n, start := range starts[r.Topic.Name] {
		if to.Partitions != nil && !slices.Contains(to.Partitions, n) {
			continue
		}
		end, _ := ends.Lookup(r.Topic.Name, n)
		one := driver.PartitionRewind{Partition: n, Was: -1}
		if at, ok := wanted.Lookup(r.Topic.Name, n); ok && at.Offset >= 0 {
			one.To = min(max(at.Offset, start.Offset), end.Offset)
		} else {
			one.To = end.Offset // no message is as late
		}
		if to.From == driver.FromOffset {
			if one.To = to.Offset; one.To < start.Offset || one.To > end.Offset {
				return nil, failure.Permanent("rewind group %s: offset %d is not in partition %d of topic %s, which has "+
					"%d to %d: name the partitions for which the offset is meant", r.Group, to.Offset, n, r.Topic.Name,
					start.Offset, end.Offset)
			}
		}
		now := start.Offset // without a commit, Godwit's consumers begin at the start
		if c, ok := committed.Lookup(r.Topic.Name, n); ok && c.Err == nil && c.At >= 0 {
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
func (r *Change) commit(ctx context.Context, all []driver.PartitionRewind) error {
	var os kadm.Offsets
	for _, one := range all {
		os.AddOffset(r.Topic.Name, one.Partition, one.To, -1)
	}
	if err := r.Admin.CommitAllOffsets(ctx, r.Group, os); err != nil {
		return fmt.Errorf("commit the new position of group %s: %w", r.Group, failure.Classify(err))
	}
	return nil
}
