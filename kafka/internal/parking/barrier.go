package parking

import "time"

// Patience is the longest time for which a partition waits until its tiers are read up to their ends at the assignment.
const Patience = 30 * time.Second

// Tier names a partition of a tier. It has the number of the channel's own partition.
type Tier struct {
	Topic     string
	Partition int32
}

// barrier blocks a partition until a tier is read up to an offset.
type barrier struct {
	offset  int64
	expires time.Time
}

// barriers are the barriers of each partition, by the tier's topic.
type barriers map[int32]map[string]barrier

func (b barriers) holds(partition int32) bool { return len(b[partition]) > 0 }

// Raise blocks a partition until one of its tiers is read up to an offset, or until Patience is over.
func (l *Lots[M]) Raise(t Tier, offset int64, now time.Time) {
	if l.barriers == nil {
		l.barriers = barriers{}
	}
	if l.barriers[t.Partition] == nil {
		l.barriers[t.Partition] = map[string]barrier{}
	}
	l.barriers[t.Partition][t.Topic] = barrier{offset, now.Add(Patience)}
}

// Barred reports whether a partition is blocked until its tiers are read.
func (l *Lots[M]) Barred(partition int32) bool { return l.barriers.holds(partition) }

// Lift removes the barriers of tiers that were read. read returns the next offset of a tier; false: this process does
// not read the tier any more. free are the messages that are first of their keys, and waited only for the barrier.
func (l *Lots[M]) Lift(now time.Time, read func(Tier) (next int64, ok bool)) (free []M) {
	for partition, tiers := range l.barriers {
		for topic, b := range tiers {
			if next, ok := read(Tier{topic, partition}); !ok || next >= b.offset || !now.Before(b.expires) {
				delete(tiers, topic)
			}
		}
		if len(tiers) == 0 {
			delete(l.barriers, partition)
			free = append(free, l.firsts(partition)...)
		}
	}
	return free
}

// firsts returns the first message of each lot of a partition, if it waits only to be the first.
func (l *Lots[M]) firsts(partition int32) (free []M) {
	for k, lot := range l.lots {
		if k.Partition != partition {
			continue
		}
		if m, ok := l.release(lot); ok {
			free = append(free, m)
		}
	}
	return free
}
