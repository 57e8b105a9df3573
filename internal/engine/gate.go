package engine

import "context"

// hold is a reason to stop polling.
type hold uint8

const (
	holdPaused hold = 1 << iota // the consumer is paused
	holdBroken                  // its breaker is open
)

// gate lets pollers pass while there is no reason to hold them. Each period between two holds has a context of its own,
// so that a hold ends the open polls. Guarded by the fleet's lock.
type gate struct {
	f      *flow
	holds  hold
	base   context.Context // ends with the session
	period context.Context // ends with the next hold; nil during a hold
	end    context.CancelFunc
	opened chan struct{} // closed when the gate is opened
	polls  int           // that are open
	keeps  bool          // waiting items are kept until no poll is open
}

// begin initializes the gate, with the holds at the start.
func (g *gate) begin(f *flow, holds hold) {
	g.f, g.base, g.holds, g.opened = f, f.polls, holds, make(chan struct{})
	if holds == 0 {
		g.open()
	}
}

func (g *gate) open() {
	g.period, g.end = context.WithCancel(g.base)
	close(g.opened)
}

// lift removes a hold, and reports whether it was the last one, so that pollers can pass.
func (g *gate) lift(h hold) (last bool) {
	g.holds &^= h
	if g.holds != 0 {
		return false
	}
	if g.period == nil {
		g.open()
	}
	return true
}

// shut adds a hold.
func (g *gate) shut(h hold) {
	g.holds |= h
	if g.period != nil {
		g.end()
		g.period, g.opened = nil, make(chan struct{})
	}
}

// held reports whether there is a hold for this reason.
func (g *gate) held(h hold) bool { return g.holds&h != 0 }

// enter waits until the gate is open and returns the period's context. It returns nil when the session has stopped
// polling. It must be called without the lock.
func (g *gate) enter() context.Context {
	for !g.f.stopping() {
		g.f.fleet.mu.Lock()
		period, opened := g.period, g.opened
		g.f.fleet.mu.Unlock()
		if period != nil {
			return period
		}
		select {
		case <-opened:
		case <-g.f.polls.Done():
		}
	}
	return nil
}

// pause stops polling, and releases the items that have not started.
func (g *gate) pause() {
	g.shut(holdPaused)
	g.f.stints.splitAll()
	if g.f.lim.Keeps {
		// A log cannot take its deliveries back, and no other consumer could get them.
		g.f.queue.freeze()
		g.f.fleet.wakeAll() // a worker that gathers a batch handles what it has
		return
	}
	g.park()
}

// park prevents items from starting until letIn, and releases those that wait, once, when no poll is open any more: a
// poll that is open would receive what was released, and with many polls and processes a message would be received
// until the service moves it to the dead letters.
func (g *gate) park() {
	g.f.queue.parked, g.f.queue.granted = true, false
	g.f.stints.splitAll()
	g.f.fleet.wakeAll()
	if g.keeps = g.polls > 0; g.keeps {
		g.f.queue.freeze()
	} else {
		g.release()
	}
}

// release releases the items that wait.
func (g *gate) release() {
	g.keeps = false
	g.f.releaseAll(g.f.queue.surplus(0))
}

// pollEnds is called when a poll has ended and its deliveries are accepted.
func (g *gate) pollEnds() {
	if g.polls--; g.polls == 0 && g.keeps {
		g.release()
	}
}

// letIn removes a hold, and lets items start if it was the last one.
func (g *gate) letIn(h hold) {
	if g.lift(h) && !g.f.queue.left {
		g.keeps = false
		g.f.queue.parked, g.f.queue.frozen, g.f.queue.granted = false, false, false
		g.f.fleet.wakeAll()
	}
}
