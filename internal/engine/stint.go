package engine

import (
	"errors"
	"slices"
	"time"
)

// abandonAfter is how long a handler has to return once its processing timeout has cancelled it.
const abandonAfter = time.Second

// stint is one call of a handler, with one item or a batch, or the time for which an iterator's caller has an item. A
// worker has one stint after another, and uses the same again. Guarded by the fleet's lock.
type stint struct {
	worker   *worker  // nil: an iterator's caller
	ctx      *Context // for its timeout, lost leases and shutdown; nil: an iterator's caller cannot be cancelled
	its      []*Item
	single   [1]*Item // what its is made of without a batch
	begun    moment
	deadline moment // when its time is up; never: not any more
	late     bool   // its timeout has cancelled it: the deadline is now when it counts as abandoned
	seated   bool   // it counts against its session's cap
	lost     int    // leases
	at       int    // where it stands among the stints
}

// stints are the handlers that run, and the iterators' callers that have something.
type stints struct {
	f         *flow
	all       []*stint // in no order: looked through when something is due, which is far more seldom than a start
	meter     meter
	tickAt    moment // when the size of the pool is thought over; never: not while nothing runs
	abandoned map[*stint]AbandonedHandler
}

// AbandonedHandler is a handler that did not return when its time was up.
type AbandonedHandler struct {
	ID    string
	Since time.Time
	Stack string // where it was when it was given up
}

// begin starts the first item of the bus for a stint, and says whether it did: an item that is not ours any more is
// dropped.
func (s *stints) begin(it *Item, st *stint) bool {
	f := s.f
	now := f.clock.now()
	switch {
	case it.lease.overBy(now): // the keeper has not looked yet: the process may have been frozen
		f.lose(it)
		return false
	case it.src.dead:
		f.drop(it)
		return false
	}
	f.queue.seat()
	st.seated = !f.queue.alone
	if f.queue.batches && it.Err == nil {
		f.move(it, evGather)
		return true
	}
	f.move(it, evStart)
	f.queue.gathering = false
	st.single[0] = it
	deadline := never
	st.ctx = nil
	if st.worker != nil {
		deadline = now.plus(f.cfg.ProcessingTimeout)
		st.ctx = s.contextFor(it, deadline)
	}
	s.start(st, st.single[:], now, deadline)
	return true
}

// contextFor is the context for an item's handler. A context that a handler has had is not used again: what the handler
// may have left running still looks at it.
func (s *stints) contextFor(it *Item, deadline moment) *Context {
	ctx := it.Context
	if ctx == nil || ctx.used() {
		ctx = new(Context)
	}
	ctx.renew(&s.f.keeper.base, deadline)
	return ctx
}

// start puts a handler under watch.
func (s *stints) start(st *stint, its []*Item, begun, deadline moment) {
	f := s.f
	st.its, st.begun, st.deadline, st.late, st.lost = its, begun, deadline, false, 0
	for _, it := range its {
		it.stint, it.counted, it.tenantCounted = st, false, false
		f.ledger.note(it, hasStint, true)
		f.cfg.Begin(it)
	}
	st.at = len(s.all)
	s.all = append(s.all, st)
	s.meter.began(begun, f.clock, its)
	f.keeper.due(deadline)
	if s.tickAt == never {
		s.tickAt = begun.plus(paceInterval)
		f.keeper.due(s.tickAt)
	}
}

// returned takes a handler out of sight that has returned. Its items stay in hand.
func (s *stints) returned(st *stint, now moment) {
	if !s.runs(st) {
		return
	}
	s.meter.over(len(st.its), st.begun, now)
	s.f.places.ahead.handled(len(st.its), now.since(st.begun))
	last := len(s.all) - 1
	s.all[last].at = st.at
	s.all[st.at], s.all[last] = s.all[last], nil
	s.all = s.all[:last]
	delete(s.abandoned, st)
}

// runs says whether a handler has not returned.
func (s *stints) runs(st *stint) bool { return st.at < len(s.all) && s.all[st.at] == st }

// release lets go of the items of a handler that has returned.
func (s *stints) release(st *stint) {
	for i, it := range st.its {
		if it.stint == st {
			it.stint = nil
			s.f.ledger.note(it, hasStint, false)
		}
		st.its[i] = nil
	}
	st.its = nil
	s.unseat(st)
}

// over is returned and release, for a caller without the lock.
func (s *stints) over(st *stint) {
	s.f.lock()
	s.returned(st, s.f.clock.now())
	s.release(st)
	s.f.unlock()
}

// unseat lets another worker begin in the place of this one.
func (s *stints) unseat(st *stint) {
	if !st.seated {
		return
	}
	st.seated = false
	if s.f.queue.vacate() {
		s.f.fleet.wakeAll()
	}
}

// interrupt cancels the handler. Losing the lease of one of several items does not: only when all are lost there is
// nothing left to work for.
func (st *stint) interrupt(cause error) {
	if errors.Is(cause, ErrLeaseLost) {
		if st.lost++; st.lost < len(st.its) {
			return
		}
	}
	if st.ctx != nil {
		st.ctx.interrupt(cause)
	}
}

// cancel tells a handler to end.
func (s *stints) cancel(st *stint, cause error) {
	for _, it := range st.its {
		s.f.move(it, evCancel)
	}
	st.interrupt(cause)
}

// cancelAll cancels every handler that runs.
func (s *stints) cancelAll(cause error) {
	for _, st := range s.all {
		s.cancel(st, cause)
	}
}

// cancelOf cancels the running handlers of sources.
func (s *stints) cancelOf(of []*source, cause error) {
	for _, st := range s.all {
		if slices.ContainsFunc(st.its, func(it *Item) bool { return slices.Contains(of, it.src) }) {
			s.cancel(st, cause)
		}
	}
}

// overdue cancels the handlers whose timeout has passed, and returns those that were cancelled before and still run.
func (s *stints) overdue(now moment) (stuck []*stint) {
	for _, st := range s.all {
		switch {
		case st.deadline > now:
		case st.late:
			stuck = append(stuck, st)
			st.deadline = never
		default:
			s.f.count.TimedOut++
			s.f.talk.timedOut(st.its[0])
			st.late, st.deadline = true, now.plus(abandonAfter)
			s.cancel(st, ErrProcessingTimeout)
		}
	}
	return stuck
}

// has says whether a worker or an iterator's caller still has an item in hand, or had it when its lease was lost.
func (st *stint) has(it *Item) bool { return it.stint == st && (it.state.inHand() || it.state == lost) }

// abandon gives a handler up that ignores its cancelled context, and says how many are given up by now; 0: it has just
// returned. Where order is kept its items keep their lanes and leases until it returns; the others are dead-lettered
// now.
func (s *stints) abandon(st *stint, stack []byte) (out int) {
	if !s.runs(st) || !st.late {
		return 0
	}
	f := s.f
	if s.abandoned == nil {
		s.abandoned = map[*stint]AbandonedHandler{}
	}
	first := st.its[0]
	s.abandoned[st] = AbandonedHandler{ID: first.ID, Since: time.Now(), Stack: string(stack)}
	f.count.Abandoned++
	f.talk.abandoned(first, stack)
	for _, it := range st.its {
		f.move(it, evAbandon)
	}
	if out = len(s.abandoned); out > f.cfg.MaxAbandoned {
		return out
	}
	s.unseat(st)
	for _, it := range st.its {
		if it.lane == 0 && st.has(it) {
			f.breaker.ended(false, ErrProcessingTimeout)
			v, death := f.cfg.prepare(it, f.cfg.timedOut(it))
			f.carryOut(it, v, death)
		}
	}
	return out
}

// remaining is how many items have been started whose handlers have not returned.
func (s *stints) remaining() (n int) {
	for _, st := range s.all {
		n += len(st.its)
	}
	return n
}

// oldest is when the handler that has run the longest began; never: none runs.
func (s *stints) oldest() moment {
	begun := never
	for _, st := range s.all {
		begun = min(begun, st.begun)
	}
	return begun
}

// deadline is when the first handler has had its time.
func (s *stints) deadline() moment {
	at := never
	for _, st := range s.all {
		at = min(at, st.deadline)
	}
	return at
}
