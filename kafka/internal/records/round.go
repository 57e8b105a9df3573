package records

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Round is one round of admission; there is one at a time. The ledger decides it under its lock, and the receiver
// carries it out afterwards.
type Round struct {
	l      *Ledger
	number uint64
	now    time.Time
	most   int

	Out     []*Message            // to be delivered
	Moved   []*Message            // to be moved to a tier instead
	Passed  discard.Tally         // records that are finished without a handler
	Change  intake.Change[*Epoch] // partitions to pause and to resume
	Keyless bool                  // many records have no key, and nobody was told before
}

// room is how many more messages this round has room for.
func (in *Round) room() int { return in.most - len(in.Out) - len(in.Moved) }

// lift releases the barriers of tiers that have been read far enough, and the messages that waited for them.
func (in *Round) lift() {
	l := in.l
	for _, m := range l.lots.Lift(in.now, func(t parking.Tier) (int64, bool) {
		e := l.Epochs.open[wire.Partition{Topic: t.Topic, N: t.Partition}]
		if e == nil {
			return 0, false
		}
		return e.next, true
	}) {
		l.delay(m, in.now)
	}
}

// returnLanes delivers the messages that were read again.
func (in *Round) returnLanes() {
	for _, e := range in.l.Epochs.open {
		for in.room() > 0 {
			m := e.lanes.next()
			if m == nil {
				break
			}
			in.resume(m)
		}
	}
}

// admitBacklogs admits polled records.
func (in *Round) admitBacklogs() {
	in.survey()
	admit := in.admit
	if in.l.Rules.MarksEnds {
		admit = in.admitOrSkip
	}
	l := in.l
	if l.Epochs.unsaved() < l.Epochs.unsavedMost() {
		l.unsavedSince = time.Time{}
		in.Change = l.Epochs.places.Share(l.Epochs.backlogs(), len(l.Epochs.open), in.room, admit)
		return
	}
	if l.unsavedSince.IsZero() {
		l.unsavedSince = in.now
	}
	in.Change = l.Epochs.places.Hold(l.Epochs.backlogs()) // the next commit wakes the poll
	l.Enough.set()
}

// admitOrSkip is admit for a member that gets control records, too.
func (in *Round) admitOrSkip(e *Epoch, rec *kgo.Record) bool {
	if !rec.Attrs.IsControl() {
		return in.admit(e, rec)
	}
	e.tracker.Skip(rec.Offset + 1)
	e.next = max(e.next, rec.Offset+1)
	in.l.Rules.recycle(rec)
	return true
}

// survey counts the keys of strained partitions.
func (in *Round) survey() {
	if !in.l.Rules.Blocks {
		return
	}
	room := in.l.Epochs.laneRoom()
	for _, e := range in.l.Epochs.open {
		e.lanes.survey(&e.open, room, in.now)
	}
}

// fate is what becomes of a polled record.
type fate uint8

const (
	barred    fate = iota // no record of its partition is admitted now: by wish, until tiers are read, or for one key
	crowded               // there is no room for it in this process, or in the partition's commit
	passed                // the commit has it as finished
	rejected              // it has a dead letter that counts
	foreign               // it is not for this consumer
	forgotten             // its lane is full and slow, and it is read again later
	fresh                 // it becomes a message
)

// fates is what each fate means. A record that is not taken stays in its backlog.
var fates = [...]struct {
	taken  bool
	passes bool // its slot in the tracker is finished at once
	counts discard.Tally
}{
	barred:    {},
	crowded:   {},
	passed:    {taken: true, counts: discard.Tally{Finished: 1}},
	rejected:  {taken: true, passes: true, counts: discard.Tally{Finished: 1}},
	foreign:   {taken: true, passes: true, counts: discard.Tally{Filtered: 1}},
	forgotten: {taken: true, passes: true},
	fresh:     {taken: true},
}

// slot is what an admitted record gets.
type slot struct {
	seq     uint64
	attempt int32
	lane    *lane // nil: its partition is not strained
}

// admit returns false if there is no room for the record now.
func (in *Round) admit(e *Epoch, rec *kgo.Record) bool {
	f, at := in.fate(e, rec)
	means := &fates[f]
	switch {
	case f == fresh:
		in.begin(e, rec, at)
		return true
	case f == crowded && e.stalled.IsZero():
		e.stalled = in.now
		in.l.stalls++
	}
	if !means.taken {
		return false
	}
	if means.passes {
		e.tracker.Finish(at.seq)
	}
	in.Passed.Finished += means.counts.Finished
	in.Passed.Filtered += means.counts.Filtered
	in.l.Rules.recycle(rec)
	return true
}

// fate decides what becomes of a record, and takes its slot in the tracker.
func (in *Round) fate(e *Epoch, rec *kgo.Record) (f fate, at slot) {
	l, home := in.l, e.Stay == 0
	switch {
	case home && (l.Epochs.paused[e.N] || l.lots.Barred(e.N)), e.lanes.forgotten >= forgottenMost:
		return barred, at
	case e.crowded():
		return crowded, at
	case rec.Offset < e.next && home:
		e.dead = nil // the log was truncated: another record has this offset now
	}
	var a offsets.Admission
	at.seq, at.attempt, a = e.tracker.Admit(rec.Offset, rec.LeaderEpoch, rec.Key)
	for a == offsets.Full && e.lanes.setLongestAside() {
		at.seq, at.attempt, a = e.tracker.Admit(rec.Offset, rec.LeaderEpoch, rec.Key)
	}
	if a == offsets.Full {
		return crowded, at
	}
	e.next, e.stalled = rec.Offset+1, time.Time{}
	if home && l.census.counts(len(rec.Key) > 0) {
		in.Keyless = l.Rules.InOrder && !l.Rules.ByPartition && !l.Rules.Unordered
	}
	switch {
	case a == offsets.Finished:
		return passed, at
	case l.Epochs.deadLettered(e, rec):
		return rejected, at
	case home && !wire.Matches(l.Rules.Filter, rec), !home && !wire.IsFor(rec, l.Rules.Consumer),
		e.mixed && !wire.DiedIn(rec, l.Rules.DiedIn):
		return foreign, at
	}
	at.lane = e.lanes.of(rec.Key)
	if at.lane != nil && e.lanes.forgets(at.lane, rec.Offset, l.Epochs.laneRoom(), in.now) {
		return forgotten, at
	}
	return fresh, at
}

// begin makes a record a message, and routes it.
func (in *Round) begin(e *Epoch, rec *kgo.Record, at slot) {
	l, home := in.l, e.Stay == 0
	m := l.messages.take()
	m.Epoch, m.Record, m.seq, m.Attempt, m.stage, m.came = e, rec, at.seq, at.attempt, admitted, in.now
	if !home || l.Rules.Unordered {
		m.due, _ = wire.Due(rec)
	}
	if !home {
		m.Attempt, m.Failed = max(m.Attempt, wire.Starts(rec)), wire.Failed(rec)
	}
	e.lanes.forgotten = 0
	e.open.put(m)
	e.lanes.join(m, at.lane)
	switch {
	case at.lane == nil || at.lane.returns == 0:
		in.route(m)
	case l.move(m, waiting):
		e.lanes.hold(m)
	}
}

// resume routes a message that has waited in this process.
func (in *Round) resume(m *Message) {
	if m.Epoch.state == epochOpen && in.l.move(m, admitted) {
		in.route(m)
	}
}

// route decides where an admitted message goes.
func (in *Round) route(m *Message) {
	l := in.l
	if l.Rules.Keeps(m.Record) && !in.enter(m) {
		return
	}
	home, wait := m.Epoch.Stay == 0, m.due.Sub(in.now)
	switch {
	case wait <= 0:
		in.Out = append(in.Out, m)
		l.move(m, delivered)
	case home && !l.Rules.Moves:
		l.delay(m, m.due)
	case home:
		in.shift(m)
	default:
		if left := m.Record.Timestamp.Add(m.Epoch.Stay).Sub(in.now); left > 0 {
			l.delay(m, in.now.Add(min(wait, left)))
		} else {
			in.shift(m)
		}
	}
}

// enter reports whether no message of the same key is before this one. If there is one, enter moves this one to the
// stage in which it waits.
func (in *Round) enter(m *Message) bool {
	switch l := in.l; l.lots.enter(m, in.now, in.number) {
	case parking.Wait:
		l.move(m, waiting)
	case parking.Hold:
		l.move(m, blocked)
	case parking.Move:
		in.shift(m)
	case parking.Drop:
		l.move(m, finished)
	case parking.Go:
		return true
	}
	return false
}

// shift takes a message out of this round, so that its copy is published to a tier.
func (in *Round) shift(m *Message) {
	in.Moved = append(in.Moved, m)
	in.l.move(m, moving)
}
