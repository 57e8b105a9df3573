package engine

import (
	"sync/atomic"
	"time"
)

const (
	// runMost is how many items a run has at most.
	runMost = 64
	// runLasts is how long the rest of a run may wait for the current handler. Then other workers get the rest.
	runLasts = time.Millisecond
	// runTimeout is the shortest processing timeout with which there are runs, whose timeouts end late by runLasts.
	runTimeout = 100 * runLasts
	// shortHandler is how long a handler takes at most for which the cost of starting it matters.
	shortHandler = 50 * time.Microsecond
)

// run is a list of items that a worker handles one after another with one section under the lock, while handlers are
// short. Its stint has all of them. Before anything but the worker changes one of them, [stints.split] ends the run, so
// that the stint has only the current item, as if there had been no run. See decision 0067.
type run struct {
	its  []*Item      // the worker's memory, used again
	next atomic.Int32 // index of the first item whose handler has not begun; 0: there is no run
}

// on returns the next item of a run when the handler of one has returned. nil: there is none, or the handled one needs
// more than to be settled as done.
func (r *run) on(c *call) *Item {
	i := r.next.Load()
	if i == 0 || int(i) == len(r.its) || !isDone(c.chosen, c.err) || c.ctx.end() != nil ||
		!r.next.CompareAndSwap(i, i+1) {
		return nil
	}
	next := r.its[i]
	next.in.cfg.Begin(next)
	return next
}

// extend makes a run of a stint that has just begun with one item, if handlers are short and more items can start.
// Other workers get their part of them. The items behind them in their lanes are added, too, while there is room.
func (s *stints) extend(st *stint, now moment) {
	f, first := s.f, st.its[0]
	if !s.mayRun() || first.Err != nil {
		return
	}
	r := &st.worker.run
	r.its = append(r.its[:0], first)
	deadline := now.plus(f.cfg.ProcessingTimeout + runLasts)
	add := func(it *Item) {
		f.move(it, evStart)
		s.assign(it, st, now)
		s.contextFor(it, deadline)
		r.its = append(r.its, it)
	}
	for heads := f.queue.n / (f.fleet.idle + 2); heads > 0 && len(r.its) < runMost; heads-- {
		it := f.queue.head
		if it.Err != nil || it.src.dead || it.lease.overBy(now) {
			break
		}
		add(it)
	}
	for i := 0; i < len(r.its) && len(r.its) < runMost; i++ {
		it := r.its[i].laneNext
		if it != nil && it.Err == nil && !it.src.dead && !it.lease.overBy(now) && f.move(it, evGather) {
			add(it)
		}
	}
	if len(r.its) == 1 {
		return
	}
	r.next.Store(1)
	st.run, st.its, st.deadline = r, r.its, deadline
	s.runUntil = min(s.runUntil, now.plus(runLasts))
	f.keeper.due(s.runUntil)
}

// mayRun reports whether the next handlers are expected to be short, and nothing counts or delays single starts.
func (s *stints) mayRun() bool {
	f := s.f
	return s.short >= shortInARow && f.cfg.ProcessingTimeout >= runTimeout && !f.cfg.TellEnded &&
		!f.queue.frozen && !f.queue.parked && !f.stopping() && !f.rates.limit() && !f.breaker.probing()
}

// split ends a run, if the stint has one. It settles the items whose handlers have returned, and takes back those whose
// handlers have not begun.
func (s *stints) split(st *stint, now moment) {
	r := st.run
	if r == nil {
		return
	}
	f := s.f
	done := int(r.next.Swap(0)) - 1
	current := r.its[done]
	st.single[0] = current
	st.run, st.its, st.ctx = nil, st.single[:], current.Context
	for _, it := range r.its[done+1:] { // before those in front of them end, which then let the next of a lane start
		f.move(it, evUndo)
		s.meter.started--
		if it.lanePrev == nil {
			f.then(it, wayReady)
		}
	}
	for _, it := range r.its[:done] {
		f.breaker.succeeded()
		f.done(it)
		if it.stint == st {
			f.give(it, hasStint)
		}
	}
	if done > 0 {
		took := now.since(st.begun)
		s.handled(done, took, took/time.Duration(done))
		st.begun = now
	}
}

// splitAll ends all runs.
func (s *stints) splitAll() {
	now := s.f.clock.now()
	for _, st := range s.all {
		s.split(st, now)
	}
}

// splitLate ends the runs that have lasted too long.
func (s *stints) splitLate(now moment) {
	if s.runUntil > now {
		return
	}
	s.runUntil = never
	for _, st := range s.all {
		switch until := st.begun.plus(runLasts); {
		case st.run == nil:
		case until <= now:
			s.split(st, now)
		default:
			s.runUntil = min(s.runUntil, until)
		}
	}
}

// waitInRuns is how many items of runs have no handler at this moment.
func (s *stints) waitInRuns() (n int) {
	for _, st := range s.all {
		if st.run != nil {
			n += len(st.its) - 1
		}
	}
	return n
}
