package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// recallPatience bounds the reading of dead letters: two dead letters of one record are better than a partition that
// nobody reads.
const recallPatience = 10 * time.Second

// recall finds out, before records of newly assigned partitions are admitted, which records without a commit already
// have a dead letter, and where their tiers end.
func (g *group) recall(ctx context.Context, begun []*records.Epoch) {
	if len(begun) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	ends, err := g.endsOfTiers(ctx)
	if err != nil {
		g.sub.b.log.Warn("the end of the tiers is not known, because the broker did not answer: later records of a "+
			"parked key may overtake it", "group", g.sub.group, "error", err)
	}
	known := g.recallOwn(ctx, begun)
	for _, e := range begun {
		g.ledger.Epochs.Recalled(e, known[e.N], ends[e.Partition])
	}
}

// endsOfTiers is the end of each tier that is not empty, up to the first open transaction. Until a tier is read up to
// that offset, the first record of a key is not known.
func (g *group) endsOfTiers(ctx context.Context) (map[wire.Partition]int64, error) {
	if g.sub.set.Retries != RetryPark {
		return nil, nil
	}
	all := map[wire.Partition]int64{}
	for topic := range g.sub.tiers {
		starts, err := g.sub.b.cluster.EachOffset(ctx, cluster.Start, topic)
		if err != nil {
			return all, err
		}
		ends, err := g.sub.b.cluster.EachOffset(ctx, cluster.Stable, topic)
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

// recallOwn reads the newest dead letters of epochs that begin, if this channel has a topic for them. It ignores
// letters from before the group's offset was last set by another tool: such a reset means that the records are to be
// handled again. The end of the dead letters at that time is the mark, which all commits carry from then on.
func (g *group) recallOwn(ctx context.Context, begun []*records.Epoch) deadletter.Known {
	s := g.sub
	log, ok := g.look(ctx)
	if !ok {
		return nil
	}
	from := map[int32]int64{}
	for _, e := range begun {
		end := log.End(e.N)
		mark, reset := g.ledger.Epochs.Mark(e, end)
		if before, ok := from[e.N]; !ok || mark < before {
			from[e.N] = mark
		}
		if reset && end > 0 && e.Stay == 0 {
			s.b.log.Info("a partition begins at an offset that Godwit did not commit: its records are handled again "+
				"even if they have a dead letter from before", "group", s.group, "partition", e.Name, "offset", e.From)
		}
	}
	return g.read(ctx, log, from)
}

// recallAll reads the newest dead letters of some partitions, of whatever age.
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

// look finds the end of the dead letters of this channel; false: it has none, or they cannot be read now.
func (g *group) look(ctx context.Context) (deadletter.Log, bool) {
	q, ok := g.sub.dead.(*deadTopic)
	if !ok {
		return deadletter.Log{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	log, err := deadletter.Look(ctx, g.sub.b.cluster, g.sub.b.channels.DeadLetters(q.ch))
	if err != nil {
		g.logUnread(err)
	}
	return log, err == nil
}

// read reads dead letters, beginning at the offset of each partition in from.
func (g *group) read(ctx context.Context, log deadletter.Log, from map[int32]int64) deadletter.Known {
	s := g.sub
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	known, err := log.Recall(ctx, s.b.cluster, deadletter.Source{Topic: s.topic, Log: g.log(), Group: s.consumer}, from)
	if err != nil {
		g.logUnread(err)
	}
	return known
}

func (g *group) logUnread(err error) {
	g.sub.b.log.Warn("the newest dead letters could not be read: some records may get a second one", "group",
		g.sub.consumer, "error", err)
}
