package engine

import (
	"errors"
	"slices"
	"time"
)

// abandonAfter is how long a handler has to return once its processing timeout has cancelled it.
const abandonAfter = time.Second

// stint is one call of a handler, with one item or a batch, or the time for which an iterator's caller has an item. A worker has
// one stint after another, and uses the same again. Guarded by the fleet's lock.
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

// begin starts the first item of the bus for a stint, and says whether it did: an item that is not ours any more is dropped.
func (f *flow) begin(it *Item, st *stint) bool {
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
		st.ctx = f.contextFor(it, deadline)
	}
	f.start(st, st.single[:], now, deadline)
	return true
}

// contextFor is the context for an item's handler. A context that a handler has had is not used again: what the handler may
// have left running still looks at it.
func (f *flow) contextFor(it *Item, deadline moment) *Context {
	ctx := it.Context
	if ctx == nil || ctx.used() {
		ctx = new(Context)
	}
	ctx.renew(&f.keeper.base, deadline)
	return ctx
}

// start puts a handler under watch.
func (f *flow) start(st *stint, its []*Item, begun, deadline moment) {
	st.its, st.begun, st.deadline, st.late, st.lost = its, begun, deadline, false, 0
	for _, it := range its {
		it.stint = st
		f.ledger.note(it, hasStint, true)
		f.cfg.Begin(it)
	}
	st.at = len(f.stints.all)
	f.stints.all = append(f.stints.all, st)
	f.stints.meter.began(begun, f.clock, its)
	f.keeper.due(deadline)
	if f.stints.tickAt == never {
		f.stints.tickAt = begun.plus(paceInterval)
		f.keeper.due(f.stints.tickAt)
	}
}

// returned takes a handler out of sight that has returned. Its items stay in hand.
func (f *flow) returned(st *stint, now moment) {
	all := f.stints.all
	if st.at >= len(all) || all[st.at] != st {
		return
	}
	f.stints.meter.over(len(st.its), st.begun, now)
	last := len(all) - 1
	all[last].at = st.at
	all[st.at], all[last] = all[last], nil
	f.stints.all = all[:last]
	delete(f.stints.abandoned, st)
}

// release lets go of the items of a handler that has returned.
func (f *flow) release(st *stint) {
	for i, it := range st.its {
		if it.stint == st {
			it.stint = nil
			f.ledger.note(it, hasStint, false)
		}
		st.its[i] = nil
	}
	st.its = nil
	f.unseat(st)
}

// over is returned and release, for a caller without the lock.
func (f *flow) over(st *stint) {
	f.lock()
	f.returned(st, f.clock.now())
	f.release(st)
	f.unlock()
}

// unseat lets another worker begin in the place of this one.
func (f *flow) unseat(st *stint) {
	if !st.seated {
		return
	}
	st.seated = false
	if f.queue.vacate() {
		f.fleet.wakeAll()
	}
}

// interrupt cancels the handler. Losing the lease of one of several items does not: only when all are lost there is nothing left
// to work for.
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
func (f *flow) cancel(st *stint, cause error) {
	for _, it := range st.its {
		f.move(it, evCancel)
	}
	st.interrupt(cause)
}

// cancelAll cancels every handler that runs.
func (f *flow) cancelAll(cause error) {
	for _, st := range f.stints.all {
		f.cancel(st, cause)
	}
}

// cancelOf cancels the running handlers of sources.
func (f *flow) cancelOf(of []*source, cause error) {
	for _, st := range f.stints.all {
		if slices.ContainsFunc(st.its, func(it *Item) bool { return slices.Contains(of, it.src) }) {
			f.cancel(st, cause)
		}
	}
}

// overdue cancels the handlers whose timeout has passed, and returns those that were cancelled before and still run.
func (f *flow) overdue(now moment) (stuck []*stint) {
	for _, st := range f.stints.all {
		switch {
		case st.deadline > now:
		case st.late:
			stuck = append(stuck, st)
			st.deadline = never
		default:
			f.count.TimedOut++
			owner := st.its[0].Owner
			f.talk.note(func() { f.obs.TimedOut(owner) })
			st.late, st.deadline = true, now.plus(abandonAfter)
			f.cancel(st, ErrProcessingTimeout)
		}
	}
	return stuck
}

// has says whether a worker or an iterator's caller still has an item in hand, or had it when its lease was lost.
func (st *stint) has(it *Item) bool { return it.stint == st && (it.state.inHand() || it.state == lost) }

// abandon gives a handler up that ignores its cancelled context, and says how many are given up by now; 0: it has just
// returned. Where order is kept its items keep their lanes and leases until it returns; the others are dead-lettered now.
func (f *flow) abandon(st *stint, stack []byte) (out int) {
	if st.at >= len(f.stints.all) || f.stints.all[st.at] != st || !st.late {
		return 0
	}
	if f.stints.abandoned == nil {
		f.stints.abandoned = map[*stint]AbandonedHandler{}
	}
	first := st.its[0]
	f.stints.abandoned[st] = AbandonedHandler{ID: first.ID, Since: time.Now(), Stack: string(stack)}
	f.count.Abandoned++
	owner := first.Owner
	f.talk.note(func() { f.obs.Abandoned(owner, stack) })
	for _, it := range st.its {
		f.move(it, evAbandon)
	}
	out = len(f.stints.abandoned)
	if out > f.cfg.MaxAbandoned {
		first.in.fail(f.cfg.Error("handle", first.ID, ErrAbandoned))
		return out
	}
	f.unseat(st)
	for _, it := range st.its {
		if it.lane == 0 && st.has(it) {
			f.breaker.ended(false, ErrProcessingTimeout)
			f.giveUp(it)
		}
	}
	return out
}

// giveUp dead-letters an item whose handler does not return.
func (f *flow) giveUp(it *Item) {
	v := it.in.timedOut(it)
	if f.cfg.NoDeadLetters {
		f.carryOut(it, f.noDeadLetters(it, v.Reason), nil)
		return
	}
	f.carryOut(it, v, f.cfg.Death(it, v.Reason))
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
