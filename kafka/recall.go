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
	known := g.recallOwn(ctx, begun)
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

// recallOwn reads the newest dead letters of epochs that begin, if this channel has a topic of them. Only those count
// that were written since the group was last set to an offset by somebody else: whoever does that wants the records
// handled again. The end of the dead letters at that time is the mark that commits carry from then on.
func (g *group) recallOwn(ctx context.Context, begun []*epoch) deadletter.Known {
	s := g.sub
	log, ok := g.look(ctx)
	if !ok {
		return nil
	}
	from := map[int32]int64{}
	for _, e := range begun {
		end := log.End(e.N)
		mark, reset := g.ledger.mark(e, end)
		if before, ok := from[e.N]; !ok || mark < before {
			from[e.N] = mark
		}
		if reset && end > 0 && e.stay == 0 {
			s.b.log.Info("a partition begins at an offset that Godwit has not committed: records that have a dead letter "+
				"from before are handled again", "group", s.group, "partition", e.Name, "offset", e.from)
		}
	}
	return g.read(ctx, log, from)
}

// recallAll reads the newest dead letters of some partitions, whenever they were written.
func (g *group) recallAll(ctx context.Context, partitions []int32) deadletter.Known {
	log, ok := g.look(ctx)
	if !ok {
		return nil
	}
	from := map[int32]int64{}
	for _, n := range partitions {
		from[n] = 0
	}
	return g.read(ctx, log, from)
}

// look finds the dead letters of this channel; false: there are none, or they cannot be read now.
func (g *group) look(ctx context.Context) (deadletter.Log, bool) {
	q, ok := g.sub.dead.(*deadTopic)
	if !ok {
		return deadletter.Log{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	log, err := deadletter.Look(ctx, g.sub.b.admin, g.sub.b.names.DeadLetters(q.ch))
	if err != nil {
		g.unread(err)
	}
	return log, err == nil
}

// read reads dead letters from an offset on, which is given for each partition.
func (g *group) read(ctx context.Context, log deadletter.Log, from map[int32]int64) deadletter.Known {
	s := g.sub
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	open := func(more ...kgo.Opt) (*kgo.Client, error) {
		opts, err := s.b.o.clientOptions(s.b.log, more...)
		if err != nil {
			return nil, err
		}
		return kgo.NewClient(opts...)
	}
	known, err := log.Recall(ctx, open, deadletter.Source{Topic: s.topic, Log: g.log(), Group: s.consumer()}, from)
	if err != nil {
		g.unread(err)
	}
	return known
}

func (g *group) unread(err error) {
	g.sub.b.log.Warn("the newest dead letters could not be read: some may come twice", "group", g.sub.consumer(),
		"error", err)
}
