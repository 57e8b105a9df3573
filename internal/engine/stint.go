package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// abandonAfter is how long a handler has to return after its processing timeout has canceled it.
const abandonAfter = time.Second

// stint is one call of a handler, with one item or a batch, or the time for which an iterator's caller has an item. A
// worker reuses its stint. Guarded by the fleet's lock.
type stint struct {
	worker   *worker  // nil: an iterator's caller
	ctx      *Context // for its timeout, lost leases and shutdown; nil: an iterator's caller cannot be canceled
	its      []*Item
	single   [1]*Item // memory of its without a batch
	run      *run     // that the stint is; nil: none
	begun    moment
	deadline moment // when its timeout is over; never: it has been handled
	late     bool   // its timeout has canceled it: the deadline is now the time at which it is abandoned
	seated   bool   // it counts for its session's limit
	lost     int    // number of lost leases
	at       int    // index among the stints
}

// stints are the running handlers, and the iterators' callers that have an item.
type stints struct {
	f         *flow
	all       []*stint // in no order; it is searched only when something is due, which is much rarer than a start
	meter     meter
	short     int    // how many of the latest handlers were short, one after another
	runUntil  moment // when the first run has lasted too long; never: there is none
	tickAt    moment // when the size of the pool is checked; never: not while nothing runs
	abandoned map[*stint]AbandonedHandler
}

// AbandonedHandler is a handler that did not return after its context was canceled.
type AbandonedHandler struct {
	ID    string
	Since time.Time
	Stack string // where it was when it was abandoned
}

// begin starts the first item of the bus for a stint, and reports whether it did. An item whose lease or source has
// ended is dropped.
func (s *stints) begin(it *Item, st *stint, now moment) bool {
	f := s.f
	switch {
	case it.lease.overBy(now): // the keeper has not seen it yet, because the process may have been frozen
		f.markLost(it)
		f.drop(it, evLose)
		return false
	case it.src.dead:
		f.drop(it, evLose)
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

// contextFor returns the context for an item's handler. A context that a handler has used is not reused, because a
// goroutine that the handler has left running may still use it.
func (s *stints) contextFor(it *Item, deadline moment) *Context {
	ctx := it.Context
	if ctx == nil || ctx.all != nil {
		ctx = new(Context)
	}
	ctx.all, ctx.deadline = &s.f.keeper.base, deadline
	it.Context = ctx
	return ctx
}

// start watches a handler.
func (s *stints) start(st *stint, its []*Item, begun, deadline moment) {
	f := s.f
	st.its, st.begun, st.deadline, st.late, st.lost = its, begun, deadline, false, 0
	s.meter.move(begun, 1)
	for _, it := range its {
		s.assign(it, st, begun)
		f.cfg.Begin(it)
	}
	st.at = len(s.all)
	s.all = append(s.all, st)
	f.keeper.due(deadline)
	if s.tickAt == never {
		s.tickAt = begun.plus(paceInterval)
		f.keeper.due(s.tickAt)
	}
}

// assign gives an item to a stint.
func (s *stints) assign(it *Item, st *stint, now moment) {
	it.stint, it.counted, it.tenantCounted = st, false, false
	s.f.take(it, hasStint)
	s.meter.starts(it, s.f.clock, now)
}

// returned ends the watch of a handler that has returned. Its items stay in hand.
func (s *stints) returned(st *stint, now moment) {
	if !s.runs(st) {
		return
	}
	s.meter.move(now, -1)
	took := now.since(st.begun)
	s.handled(len(st.its), took, took)
	last := len(s.all) - 1
	s.all[last].at = st.at
	s.all[st.at], s.all[last] = s.all[last], nil
	s.all = s.all[:last]
	delete(s.abandoned, st)
}

// handled counts n items that took so long in all, and each handler of them.
func (s *stints) handled(n int, took, each time.Duration) {
	s.meter.ended += n
	s.meter.spent += took
	s.f.places.ahead.handled(n, each)
	if s.short = min(s.short+n, shortInARow); each > shortHandler {
		s.short = 0
	}
}

// runs reports whether a handler has not returned.
func (s *stints) runs(st *stint) bool { return st.at < len(s.all) && s.all[st.at] == st }

// free takes the items of a handler that has returned from its stint, and frees its worker.
func (s *stints) free(st *stint) {
	for i, it := range st.its {
		if it.stint == st { // otherwise another handler has it by now
			s.f.give(it, hasStint)
		}
		st.its[i] = nil
	}
	st.its = nil
	s.unseat(st)
}

// unseat lets another worker begin instead of this one.
func (s *stints) unseat(st *stint) {
	if !st.seated {
		return
	}
	st.seated = false
	if s.f.queue.vacate() {
		s.f.fleet.wakeAll()
	}
}

// interrupt cancels the handler. If one of several items loses its lease, the handler continues; it is canceled only
// when all have lost theirs.
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

// cancel cancels a handler and moves its items.
func (s *stints) cancel(st *stint, cause error) {
	s.split(st, s.f.clock.now())
	for _, it := range st.its {
		if it.stint == st { // otherwise another handler may have it by now
			s.f.move(it, evCancel)
		}
	}
	st.interrupt(cause)
}

// cancelAll cancels all running handlers.
func (s *stints) cancelAll(cause error) {
	for _, st := range s.all {
		s.cancel(st, cause)
	}
}

// cancelOf cancels the running handlers of sources.
func (s *stints) cancelOf(of []*source, cause error) {
	s.splitAll()
	for _, st := range s.all {
		if slices.ContainsFunc(st.its, func(it *Item) bool { return slices.Contains(of, it.src) }) {
			s.cancel(st, cause)
		}
	}
}

// concludeOf settles the items of sources, as their handlers have chosen that have not returned.
func (s *stints) concludeOf(of []*source) {
	for _, st := range s.all {
		for _, it := range slices.Clone(st.its) {
			if slices.Contains(of, it.src) && st.has(it) {
				s.f.concludeRunning(it)
			}
		}
	}
}

// overdue cancels the handlers whose timeout is over, and returns those that were canceled before and still run.
func (s *stints) overdue(now moment) (stuck []*stint) {
	for _, st := range s.all {
		switch {
		case st.deadline > now:
		case st.late:
			stuck = append(stuck, st)
			st.deadline = never
		default:
			s.f.count.TimedOut++
			s.f.talk.about(st.its[0], Observer.TimedOut)
			st.late, st.deadline = true, now.plus(abandonAfter)
			s.cancel(st, ErrProcessingTimeout)
		}
	}
	return stuck
}

// has reports whether a worker or an iterator's caller still has an item in hand, or had it when its lease was lost.
func (st *stint) has(it *Item) bool { return it.stint == st && (it.state.inHand() || it.state == lost) }

// abandon abandons a handler that ignores the end of its context, and returns how many are abandoned now; 0: it has
// just returned. With order, its items keep their lanes and leases until it returns; without order, they are rejected
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
	f.talk.about(first, func(o Observer, owner any) { o.Abandoned(owner, stack) })
	for _, it := range st.its {
		f.move(it, evAbandon)
	}
	if out = len(s.abandoned); out > f.cfg.MaxAbandoned {
		return out
	}
	s.unseat(st)
	for _, it := range st.its {
		if it.lane == 0 && st.has(it) && !f.concludeRunning(it) {
			f.breaker.failed(ErrProcessingTimeout)
			f.carryOut(it, it.prepare(f.cfg.timedOut(it)))
		}
	}
	return out
}

// oldest is when the oldest running handler began; never: none runs.
func (s *stints) oldest() moment {
	begun := never
	for _, st := range s.all {
		begun = min(begun, st.begun)
	}
	return begun
}

// deadline is when the first handler's timeout is over.
func (s *stints) deadline() moment {
	at := never
	for _, st := range s.all {
		at = min(at, st.deadline)
	}
	return at
}

// Context is the context of a handler. It can be canceled with a cause, and has the processing deadline as a field. The
// keeper checks the deadlines of all handlers with one timer. The expensive parts are made when they are first needed:
// a handler that does not use its context causes none of the allocations of a context that can be canceled.
type Context struct {
	all      *commonContext // nil: no handler has used it
	deadline moment         // noMoment: none

	inner atomic.Pointer[innerContext]
	ended atomic.Pointer[error] // why it has ended; nil: it has not
}

// handlerReturned is the reason for a context whose handler has returned without a cancellation.
var handlerReturned error

// commonContext is the parent of the contexts of all handlers of a session. It has values, and no cancellation.
type commonContext struct {
	context.Context
	clock clock
}

// innerContext is the context of the standard library that can be canceled.
type innerContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// Deadline is the end of the processing timeout.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline == noMoment {
		return time.Time{}, false
	}
	return c.all.clock.time(c.deadline), true
}

// Done is closed when the context is canceled.
func (c *Context) Done() <-chan struct{} { return c.whole().Done() }

// Err is context.Canceled once the context is canceled, with any cause.
func (c *Context) Err() error { return c.whole().Err() }

// Value looks in the parent first, and then in the inner context, in which the standard library finds the cause.
func (c *Context) Value(key any) any {
	if v := c.all.Value(key); v != nil {
		return v
	}
	return c.whole().Value(key)
}

// whole makes the inner context when it is first needed.
func (c *Context) whole() *innerContext {
	if in := c.inner.Load(); in != nil {
		return in
	}
	in := &innerContext{}
	in.Context, in.cancel = context.WithCancelCause(c.all)
	if !c.inner.CompareAndSwap(nil, in) {
		in.cancel(nil)
		return c.inner.Load()
	}
	// over stores the reason before it looks for the inner context, so either over or whole cancels it.
	if why := c.ended.Load(); why != nil {
		in.cancel(*why)
	}
	return in
}

// interrupt cancels the context. The first cause counts.
func (c *Context) interrupt(cause error) { c.over(&cause) }

// end cancels the context after the handler has returned, for goroutines that it has left running. It returns the cause
// of an earlier cancellation, or nil.
func (c *Context) end() (cause error) {
	c.over(&handlerReturned)
	return *c.ended.Load()
}

// over ends the context, unless it has already ended.
func (c *Context) over(why *error) {
	if !c.ended.CompareAndSwap(nil, why) {
		return
	}
	if in := c.inner.Load(); in != nil {
		in.cancel(*why)
	}
}
