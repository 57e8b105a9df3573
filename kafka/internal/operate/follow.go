package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/later"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Follow is driver.Operations.Follow: it reads the topic of a channel or an exchange as it grows, without a group,
// committed records only. Partitions that are added meanwhile are not read.
func Follow(ctx context.Context, n *Namespace, ch driver.Channel, from driver.PeekFrom,
	each func([]driver.Peeked) error,
) error {
	t, err := n.find(ctx, ch)
	if err != nil {
		return err
	}
	if err := n.follow(ctx, t, ch, from, each); err != nil {
		return fmt.Errorf("follow topic %s: %w", t.Name, err)
	}
	return nil
}

// follow reads until ctx ends.
func (n *Namespace) follow(ctx context.Context, t cluster.Topic, ch driver.Channel, from driver.PeekFrom,
	each func([]driver.Peeked) error,
) error {
	begin, err := n.begin(ctx, t, from)
	if err != nil {
		return err
	}
	r, err := n.Cluster.Read(map[string]map[int32]kgo.Offset{t.Name: begin}, peekWait,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(peekBytes), kgo.FetchMaxPartitionBytes(peekShare))
	if err != nil {
		return err
	}
	defer r.Close()
	if err := each(nil); err != nil {
		return err
	}
	for {
		fetches, err := r.Poll(ctx)
		switch {
		case errors.Is(err, cluster.ErrSilent):
			continue // nothing was sent to the topic
		case err != nil:
			return err
		}
		var some []driver.Peeked
		fetches.EachRecord(func(r *kgo.Record) {
			switch {
			case r.Timestamp.Before(from.Time), ch.Later && !later.IsWaiting(r):
			case ch.Later:
				some = append(some, peekedLater(n, ch, r))
			default:
				some = append(some, n.peeked(ch, r))
			}
		})
		if len(some) == 0 {
			continue
		}
		if err := each(some); err != nil {
			return err
		}
	}
}

// begin returns where the reading of each partition begins.
func (n *Namespace) begin(ctx context.Context, t cluster.Topic, from driver.PeekFrom) (
	begin map[int32]kgo.Offset, err error,
) {
	starts, ends, err := n.Cluster.Bounds(ctx, cluster.End, t.Name)
	if err != nil {
		return nil, err
	}
	begin = map[int32]kgo.Offset{}
	if from.ID != "" {
		at, ok := wire.ParseHome(from.ID)
		start, _ := starts.Lookup(t.Name, at.N)
		end, there := ends.Lookup(t.Name, at.N)
		if !ok || !there || at.Topic != t.Name || at.Offset < start.Offset || at.Offset >= end.Offset {
			return nil, &driver.Error{Class: driver.NotFound, Err: fmt.Errorf(
				"it has no record %q: an id is %s/PARTITION/OFFSET", from.ID, t.Name)}
		}
		begin[at.N] = kgo.NewOffset().At(at.Offset)
		return begin, nil
	}
	var after kadm.ListedOffsets
	if !from.Time.IsZero() {
		if after, err = n.Cluster.Offsets(ctx, cluster.After(from.Time), t.Name); err != nil {
			return nil, err
		}
	}
	for p, end := range ends[t.Name] {
		at := end.Offset
		if first, ok := after.Lookup(t.Name, p); ok && first.Offset >= 0 {
			at = first.Offset
		}
		begin[p] = kgo.NewOffset().At(at)
	}
	return begin, nil
}
