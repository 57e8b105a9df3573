package records

import (
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Member is a member of the group as the ledger knows it.
type Member struct {
	Group    string
	Instance *string                 // the id of a static member; nil: the member is dynamic
	Topics   map[string]kadm.TopicID // their ids when the member joined
	retired  bool                    // replaced: its callbacks are ignored. Guarded by Ledger.mu
}

// Name is a topic's name. Newer brokers send only its id.
func (m *Member) Name(name string, id kadm.TopicID) string {
	if name != "" {
		return name
	}
	for name, known := range m.Topics {
		if known == id {
			return name
		}
	}
	return ""
}

// Epochs are the epochs of a receiver: which partitions it has, and what became of those that it had. Its methods take
// the ledger's lock.
type Epochs struct {
	l      *Ledger
	open   map[wire.Partition]*Epoch
	past   map[wire.Partition]pastEpoch // epochs that ended without their last commit
	places *intake.Intake[*Epoch]
	paused map[int32]bool // partitions whose records are not admitted, by the caller's wish
}

// pastEpoch is what an epoch had finished when it ended, and how many of its finished messages no commit passes. It is
// kept until the partition returns: it is valid as long as no other member has committed.
type pastEpoch struct {
	offsets.Kept
	uncommitted int
}

// Assign begins epochs of a member, unless the member was replaced.
func (es *Epochs) Assign(m *Member, topics map[string][]int32) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	if m.retired {
		return
	}
	each(topics, func(p wire.Partition) { es.open[p] = newEpoch(m, p, &es.l.Rules) })
	for p, past := range es.past {
		if es.open[p] == nil { // another member's partition: it handles again what no commit passes
			past.uncommitted = 0
			es.past[p] = past
		}
	}
}

// each calls f for each partition.
func each(topics map[string][]int32, f func(p wire.Partition)) {
	for topic, ns := range topics {
		for _, n := range ns {
			f(wire.Partition{Topic: topic, N: n})
		}
	}
}

// Start tells an epoch its group's committed offset. It returns nil if the epoch has started before, or if the member
// has no epoch of the partition.
func (es *Epochs) Start(m *Member, p wire.Partition, committed int64, metadata string) *Epoch {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	e := es.open[p]
	if e == nil || e.member != m || e.started {
		return nil
	}
	e.started = true
	past, ok := es.past[p]
	delete(es.past, p)
	if ok && e.tracker.Resume(committed, metadata, &past.Kept) {
		e.finished = past.uncommitted
	} else {
		e.tracker.Start(committed, metadata)
	}
	e.From = committed
	return e
}

// Begin tells epochs without a commit where their logs start, so that they have something to commit before their first
// record.
func (es *Epochs) Begin(begun []*Epoch, start func(p wire.Partition) (offset int64, ok bool)) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	for _, e := range begun {
		if offset, ok := start(e.Partition); ok && e.From < 0 && e.next < 0 {
			e.tracker.Skip(offset)
		}
	}
}

// Mark returns the first offset of the dead letters that count for an epoch: a record with an earlier one is handled
// again. reset: the mark is the end of the dead letters, because the group's commit was not made by Godwit, or by a
// version without marks.
func (es *Epochs) Mark(e *Epoch, end int64) (mark int64, reset bool) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	switch mark = e.tracker.Marked(); {
	case !e.tracker.Own() || mark < 0:
		e.fresh = true
		e.tracker.Mark(end)
		return end, true
	case mark > end: // the topic of the dead letters was created again
		e.tracker.Mark(0)
		return 0, false
	}
	return mark, false
}

// deadLettered reports whether a record already has a dead letter that counts. For a record in a tier, the mark of the
// channel's own partition applies too: a record that is handled again there may wait in the tier again.
func (es *Epochs) deadLettered(e *Epoch, r *kgo.Record) bool {
	if len(e.dead) == 0 {
		return false
	}
	offset := r.Offset
	if e.Stay > 0 {
		home, ok := wire.HomeOf(r)
		if !ok || home.Topic != es.l.Rules.Topic {
			return false
		}
		offset = home.Offset
	}
	letter, died := e.dead[offset]
	mark := e.tracker.Marked()
	if home := es.open[wire.Partition{Topic: es.l.Rules.Topic, N: e.N}]; home != nil {
		mark = max(mark, home.tracker.Marked())
	}
	return died && letter >= mark && letter > wire.Revived(r)
}

// Recalled tells an epoch which of its records have a dead letter. For a partition of a tier, barrier is the offset up
// to which the tier must be read before the channel's own partition is admitted; 0: no barrier.
func (es *Epochs) Recalled(e *Epoch, dead map[int64]int64, barrier int64) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	e.dead = dead
	if barrier > max(e.From, 0) {
		es.l.lots.Raise(parking.Tier{Topic: e.Topic, Partition: e.N}, barrier, time.Now())
	}
}

// Leave stops the admission of partitions. It waits until the records of a poll in flight are admitted: otherwise they
// could be taken for records of the partition's next epoch. A later poll brings no records of these epochs.
func (es *Epochs) Leave(m *Member, topics map[string][]int32) (left []*Epoch) {
	es.l.mu.Lock()
	each(topics, func(p wire.Partition) {
		if e := es.open[p]; e != nil && e.member == m {
			e.leave()
			left = append(left, e)
		}
	})
	es.l.mu.Unlock()
	if len(left) > 0 {
		es.l.Wakeup.await()
	}
	return left
}

// Retire ends a member: later callbacks of its client are ignored.
func (es *Epochs) Retire(m *Member) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	m.retired = true
	clear(es.past)
}

// Of returns all epochs of a member.
func (es *Epochs) Of(m *Member) (all []*Epoch) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	for _, e := range es.open {
		if e.member == m {
			all = append(all, e)
		}
	}
	return all
}

// Keep remembers what epochs had finished, for the case that their partitions return before another member has
// committed. With transactions it remembers nothing.
func (es *Epochs) Keep(all []*Epoch) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	if es.l.Rules.Transforms { // the results of finished messages may not be published
		return
	}
	es.l.read()
	for _, e := range all {
		if e.state != epochGone && e.uncommitted() > 0 {
			es.past[e.Partition] = pastEpoch{e.tracker.Keep(), e.uncommitted()}
		}
	}
}

// Kept are the partitions whose last epoch ended before its finished messages were committed. If one of them returns
// before another member has it, nothing of it is handled again.
func (es *Epochs) Kept() map[string][]int32 {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	all := map[string][]int32{}
	for p, past := range es.past {
		if past.uncommitted > 0 {
			all[p.Topic] = append(all[p.Topic], p.N)
		}
	}
	return all
}

// Uncommitted is how many finished messages are not committed.
func (es *Epochs) Uncommitted(m *Member) (n int) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	for _, e := range es.open {
		if e.member == m {
			n += e.uncommitted()
		}
	}
	for _, past := range es.past {
		n += past.uncommitted
	}
	return n + es.l.Results.open
}

// unsaved is how many finished messages of all epochs are not committed.
func (es *Epochs) unsaved() (n int) {
	for _, e := range es.open {
		n += e.uncommitted()
	}
	return n
}

// unsavedMost is how many finished messages may be without a commit until no record is admitted: at the present speed,
// four times as many as one commit has. So admission waits only if a commit is late. The caller holds l.mu.
func (es *Epochs) unsavedMost() int { return 4 * (es.l.Rules.Commit + es.l.usual) }

// saved wakes a poll if records wait for a commit. The caller holds l.mu.
func (es *Epochs) saved() {
	if !es.l.unsavedSince.IsZero() {
		es.l.Wakeup.Wake()
	}
}

// Awaited reports whether a partition may return whose epoch ended before its finished messages were committed.
func (es *Epochs) Awaited() bool {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	for _, past := range es.past {
		if past.uncommitted > 0 {
			return true
		}
	}
	return false
}

// Discard ends epochs: their messages no longer count.
func (es *Epochs) Discard(all []*Epoch) {
	es.l.mu.Lock()
	defer es.l.mu.Unlock()
	for _, e := range all {
		if e.state == epochGone {
			continue
		}
		e.state = epochGone
		es.places.Forget(&e.backlog)
		if es.open[e.Partition] == e {
			delete(es.open, e.Partition)
		}
		es.l.lots.forget(e)
		es.l.Results.forget(e)
	}
	es.l.Wakeup.Wake()
}

// Reopen ends epochs, and begins others of their partitions at other offsets, which it returns. It leaves out
// partitions that were taken away meanwhile.
func (es *Epochs) Reopen(all []*Epoch, at map[int32]int64) (begun []*Epoch) {
	es.l.mu.Lock()
	for _, e := range all {
		if es.open[e.Partition] != e {
			continue
		}
		next := newEpoch(e.member, e.Partition, &es.l.Rules)
		next.tracker.Start(at[e.N], "")
		next.From, next.started = at[e.N], true
		es.open[e.Partition] = next
		begun = append(begun, next)
	}
	es.l.mu.Unlock()
	es.Discard(all)
	return begun
}

// Pause sets the partitions whose records are not admitted.
func (es *Epochs) Pause(partitions map[int32]bool) {
	es.l.mu.Lock()
	es.paused = partitions
	es.l.mu.Unlock()
	es.l.Wakeup.Wake()
}

// laneRoom is the room of each key.
func (es *Epochs) laneRoom() laneRoom { return es.l.Rules.laneRoom(len(es.open)) }

// backlogs are the backlogs of all epochs.
func (es *Epochs) backlogs() iter.Seq[*intake.Backlog[*Epoch]] {
	return func(yield func(*intake.Backlog[*Epoch]) bool) {
		for _, e := range es.open {
			if !yield(&e.backlog) {
				return
			}
		}
	}
}
