package engine

import "context"

// hold is a reason to keep pollers back.
type hold uint8

const (
	holdPaused hold = 1 << iota // somebody has paused the consumer
	holdBroken                  // its breaker is open
)

// gate lets pollers through while there is no reason to hold them back. Each period between two holds has a context of
// its own, so that a hold ends the polls that are open. Guarded by the fleet's lock.
type gate struct {
	f      *flow
	holds  hold
	base   context.Context // ends with the session
	period context.Context // ends with the next hold; nil while there is one
	end    context.CancelFunc
	opened chan struct{} // closed when the gate is opened
}

// begin begins a session's gate, with the reasons that there are from the start.
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

// lift takes a reason back, and says whether it was the last: then pollers are let through.
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

// shut holds pollers back for a reason.
func (g *gate) shut(h hold) {
	g.holds |= h
	if g.period != nil {
		g.end()
		g.period, g.opened = nil, make(chan struct{})
	}
}

// closed says whether pollers are held back now.
func (g *gate) closed() bool { return g.period == nil }

// held says whether there is this reason to hold them back.
func (g *gate) held(h hold) bool { return g.holds&h != 0 }

// enter waits until the gate is open and returns the period's context; nil once the session polls no more. It runs
// without the lock.
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

// pause stops polling, and gives back what has not started.
func (g *gate) pause() {
	g.shut(holdPaused)
	if g.f.lim.Keeps { // what is here cannot go back, and nobody else could have it
		g.f.queue.freeze()
		g.f.fleet.wakeAll() // whoever gathers a batch goes with what there is
		return
	}
	g.park()
}

// park makes nothing runnable until letIn, and gives back what waits.
func (g *gate) park() {
	g.f.queue.parked, g.f.queue.granted = true, false
	g.f.fleet.wakeAll()
	g.f.giveBackAll(g.f.queue.surplus(0))
}

// letIn takes a reason to hold back away, and polls again if it was the last.
func (g *gate) letIn(h hold) {
	if g.lift(h) && !g.f.queue.left {
		g.f.queue.parked, g.f.queue.frozen, g.f.queue.granted = false, false, false
		g.f.fleet.wakeAll()
	}
}
