package kafka

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/operate"
	"github.com/godwitmq/godwit/kafka/internal/records"
)

// Seek moves the running consumer of the channel in this process to another position. It moves only those of the wanted
// partitions that this consumer has, and returns them. Running handlers of these partitions have 10 s to return; after
// 8 s they are canceled. Records that wait for a handler are dropped. Seek commits the new position. All records from
// there on are handled, also those that were handled or rejected before; retries stay in their tiers. If a partition
// belongs to another process, the error names it: call Seek there, too. While no consumer of the channel runs anywhere,
// use Backend.Rewind.
func (p *Partitions) Seek(ctx context.Context, to driver.Position) ([]driver.PartitionRewind, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	b, ch := p.b, p.channel
	r := b.pauses.receiverOf(ch)
	if r == nil {
		return nil, failure.Permanent("channel %s: no consumer of this process runs, so there is no position to move: "+
			"call Seek where one runs, or Rewind while none does", ch)
	}
	if r.sub.transforms {
		return nil, failure.Permanent("channel %s: its consumer commits in transactions: stop it, and use Rewind", ch)
	}
	t, err := b.cluster.Find(ctx, r.sub.topic)
	if err != nil {
		return nil, err
	}
	change := operate.Change{Cluster: b.cluster, Topic: t, Group: r.sub.group}
	plan, err := change.Plan(ctx, to)
	if err != nil {
		return nil, err
	}
	return r.group.seek(ctx, plan)
}

// seek moves the partitions that the member has.
func (g *group) seek(ctx context.Context, plan []driver.PartitionRewind) (moved []driver.PartitionRewind, err error) {
	m, topic := g.current(), g.sub.topic
	ps, at := map[string][]int32{}, map[int32]int64{}
	for _, one := range plan {
		ps[topic] = append(ps[topic], one.Partition)
		at[one.Partition] = one.To
	}
	// Records from before must not be taken for those of the new epochs.
	m.client.PauseFetchPartitions(ps)
	defer m.client.ResumeFetchPartitions(ps)
	es := g.ledger.Epochs.Leave(m.Member, ps)
	if revoked := g.sub.o.Events.Revoked; revoked != nil && len(es) > 0 {
		drain, cancel := context.WithTimeout(ctx, drainPatience)
		revoked(drain, sourcesOf(es))
		cancel()
	}
	begun := g.ledger.Epochs.Reopen(es, at)
	begun, err = m.place(ctx, begun, at)
	g.recall(ctx, begun)
	// If the commit fails, the next one makes up for it.
	err = errors.Join(err, g.committer.commitStart(ctx, m, begun))
	var others []int32
	for _, one := range plan {
		if slices.ContainsFunc(begun, func(e *records.Epoch) bool { return e.N == one.Partition }) {
			moved = append(moved, one)
		} else {
			others = append(others, one.Partition)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		err = errors.Join(failure.Permanent("channel %s: partitions %v of topic %s are not this consumer's, and have not "+
			"moved: call Seek in the processes that have them", g.sub.from, others, topic), err)
	}
	return moved, err
}

const (
	// placePatience bounds how long a seek waits for the client to know the committed position of a partition.
	placePatience = 5 * time.Second
	placeAgain    = 10 * time.Millisecond
)

// place sets the client's position in partitions, and returns those in which that has succeeded. Until the client has
// looked up the committed position of a partition that was just assigned, it ignores another one.
func (m *member) place(ctx context.Context, begun []*records.Epoch, at map[int32]int64) ([]*records.Epoch, error) {
	ctx, cancel := context.WithTimeout(ctx, placePatience)
	defer cancel()
	for {
		own := m.g.ledger.Epochs.Of(m.Member)
		begun = slices.DeleteFunc(begun, func(e *records.Epoch) bool { return !slices.Contains(own, e) })
		left, topic := map[int32]kgo.EpochOffset{}, m.g.sub.topic
		for _, e := range begun {
			left[e.N] = kgo.EpochOffset{Epoch: -1, Offset: at[e.N]}
		}
		m.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: left})
		now := m.client.CommittedOffsets()[topic] // which SetOffsets also sets
		maps.DeleteFunc(left, func(n int32, o kgo.EpochOffset) bool { return now[n] == o })
		if len(left) == 0 {
			return begun, nil
		}
		if err := backoff.Sleep(ctx, placeAgain); err != nil {
			return slices.DeleteFunc(begun, func(e *records.Epoch) bool { _, is := left[e.N]; return is }), err
		}
	}
}
