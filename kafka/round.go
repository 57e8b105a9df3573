package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// round is one round of admission; there is one at a time. The ledger decides it under its lock, and the receiver
// carries it out afterwards.
type round struct {
	l      *ledger
	number uint64
	now    time.Time
	most   int

	out    []*message            // to be delivered
	move   []*message            // to be moved to a tier instead
	passed discard.Tally         // records that are finished without a handler
	change intake.Change[*epoch] // partitions to pause and to resume
	keys   bool                  // many records have no key, and nobody was told before
}

// room is how many more messages this round has room for.
func (in *round) room() int { return in.most - len(in.out) - len(in.move) }

// lift releases the barriers of tiers that have been read far enough, and the messages that waited for them.
func (in *round) lift() {
	l := in.l
	for _, m := range l.lots.Lift(in.now, func(t parking.Tier) (int64, bool) {
		e := l.epochs[wire.Partition{Topic: t.Topic, N: t.Partition}]
		if e == nil {
			return 0, false
		}
		return e.next, true
	}) {
		l.delay(m, in.now)
	}
}

// returnLanes delivers the messages that were read again.
func (in *round) returnLanes() {
	for _, e := range in.l.epochs {
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
func (in *round) admitBacklogs() {
	in.survey()
	admit := in.admit
	if in.l.sub.marksEnds() {
		admit = in.admitOrSkip
	}
	in.change = in.l.intake.Share(backlogs(in.l.epochs), len(in.l.epochs), in.room, admit)
}

// admitOrSkip is admit for a member that gets control records, too.
func (in *round) admitOrSkip(e *epoch, rec *kgo.Record) bool {
	if !rec.Attrs.IsControl() {
		return in.admit(e, rec)
	}
	e.tracker.Skip(rec.Offset + 1)
	e.next = max(e.next, rec.Offset+1)
	in.l.sub.recycle(rec)
	return true
}

// survey counts the keys of strained partitions.
func (in *round) survey() {
	l := in.l
	if !l.sub.blocks() {
		return
	}
	room := l.sub.laneRoom(len(l.epochs))
	for _, e := range l.epochs {
		e.lanes.survey(&e.open, room, in.now)
	}
}

// admit returns false if there is no room for the record now.
func (in *round) admit(e *epoch, rec *kgo.Record) bool {
	l := in.l
	home := e.stay == 0
	if home && (l.paused[e.N] || l.lots.Barred(e.N)) || e.lanes.forgotten >= forgottenMost {
		return false
	}
	if e.crowded() {
		return in.stall(e)
	}
	if rec.Offset < e.next && home {
		e.dead = nil // the log was truncated: another record has this offset now
	}
	seq, attempt, a := e.tracker.Admit(rec.Offset, rec.LeaderEpoch, rec.Key)
	for a == offsets.Full && e.lanes.setLongestAside() {
		seq, attempt, a = e.tracker.Admit(rec.Offset, rec.LeaderEpoch, rec.Key)
	}
	if a == offsets.Full {
		return in.stall(e)
	}
	e.next, e.stalled = rec.Offset+1, time.Time{}
	if home && l.census.counts(len(rec.Key) > 0) {
		in.keys = l.sub.inOrder() && l.sub.set.Ordering == OrderByKey
	}
	switch {
	case a == offsets.Finished:
		in.passed.Finished++
	case l.deadLettered(e, rec):
		in.passed.Finished++
		e.tracker.Finish(seq)
	case home && !wire.Matches(l.sub.o.Filter, rec), !home && !wire.IsFor(rec, l.sub.consumer):
		in.passed.Filtered++
		e.tracker.Finish(seq)
	default:
		ln := e.lanes.of(rec.Key)
		if ln != nil && e.lanes.forgets(ln, rec.Offset, l.sub.laneRoom(len(l.epochs)), in.now) {
			e.tracker.Finish(seq)
			break
		}
		m := l.messages.take()
		m.epoch, m.record, m.seq, m.attempt, m.stage, m.came = e, rec, seq, attempt, admitted, in.now
		if !home || l.sub.set.Ordering == OrderNone {
			m.due, _ = wire.Due(rec)
		}
		if !home {
			m.attempt, m.failed = max(m.attempt, wire.Starts(rec)), wire.Failed(rec)
		}
		e.lanes.forgotten = 0
		e.open.put(m)
		e.lanes.join(m, ln)
		switch {
		case ln == nil || ln.returns == 0:
			in.route(m)
		case l.move(m, waiting):
			e.lanes.hold(m)
		}
		return true
	}
	l.sub.recycle(rec)
	return true
}

// resume routes a message that has waited in this process.
func (in *round) resume(m *message) {
	if m.epoch.state == epochOpen && in.l.move(m, admitted) {
		in.route(m)
	}
}

// route decides where an admitted message goes.
func (in *round) route(m *message) {
	l := in.l
	if l.sub.parks(m) && !in.enter(m) {
		return
	}
	home, wait := m.epoch.stay == 0, m.due.Sub(in.now)
	switch {
	case wait <= 0:
		in.out = append(in.out, m)
		l.move(m, delivered)
	case home && !l.sub.moves():
		l.delay(m, m.due)
	case home:
		in.shift(m)
	default:
		if left := m.record.Timestamp.Add(m.epoch.stay).Sub(in.now); left > 0 {
			l.delay(m, in.now.Add(min(wait, left)))
		} else {
			in.shift(m)
		}
	}
}

// enter reports whether no message of the same key is before this one. If there is one, enter moves this one to the
// stage in which it waits.
func (in *round) enter(m *message) bool {
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
func (in *round) shift(m *message) {
	in.move = append(in.move, m)
	in.l.move(m, moving)
}
