package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// recallPatience bounds the look at what became of records: a dead letter twice is better than a partition that nobody
// reads.
const recallPatience = 10 * time.Second

// recall looks, before anything of newly assigned partitions is read, at what became of their records after the last
// commit: which are dead letters already, and how far their tiers reach.
func (g *group) recall(ctx context.Context, begun []*epoch) {
	if len(begun) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	ends, err := g.endsOfTiers(ctx)
	if err != nil {
		g.sub.b.log.Warn("how far the tiers reach could not be asked: a parked key may be overtaken", "group",
			g.sub.group, "error", err)
	}
	partitions := make([]int32, len(begun))
	for i, e := range begun {
		partitions[i] = e.N
	}
	known := g.recallLetters(ctx, partitions)
	for _, e := range begun {
		g.ledger.recalled(e, known[e.N], ends[e.Partition])
	}
}

// endsOfTiers is where the tiers end that have something in them: until they are read so far, what stands first of a
// key is not known.
func (g *group) endsOfTiers(ctx context.Context) (map[wire.Partition]int64, error) {
	if g.sub.set.Retries != RetryPark {
		return nil, nil
	}
	all := map[wire.Partition]int64{}
	for topic := range g.sub.tiers {
		starts, err := g.sub.b.admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return all, err
		}
		ends, err := g.sub.b.admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return all, err
		}
		ends.Each(func(end kadm.ListedOffset) {
			if start, ok := starts.Lookup(topic, end.Partition); ok && end.Err == nil && end.Offset > start.Offset {
				all[wire.Partition{Topic: topic, N: end.Partition}] = end.Offset
			}
		})
	}
	return all, nil
}

// recallLetters reads the newest dead letters of some partitions, if this channel has a topic of them.
func (g *group) recallLetters(ctx context.Context, partitions []int32) deadletter.Known {
	s := g.sub
	q, ok := s.dead.(*deadTopic)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	open := func(more ...kgo.Opt) (*kgo.Client, error) {
		opts, err := s.b.o.clientOptions(s.b.log, more...)
		if err != nil {
			return nil, err
		}
		return kgo.NewClient(opts...)
	}
	of := deadletter.Source{Topic: s.topic, Log: g.log(), Group: s.consumer()}
	known, err := deadletter.Recall(ctx, s.b.admin, open, s.b.names.DeadLetters(q.ch), of, partitions)
	if err != nil {
		s.b.log.Warn("the newest dead letters could not be read: some may come twice", "group", s.consumer(), "error",
			err)
	}
	return known
}
