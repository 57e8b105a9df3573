package engine

import "context"

// hold is a reason to keep pollers back.
type hold uint8

const (
	holdPaused hold = 1 << iota // somebody has paused the consumer
	holdBroken                  // its breaker is open
)

// gate lets pollers through while there is no reason to hold them back. Each period between two holds has a context of its
// own, so that a hold ends the polls that are open. Guarded by the fleet's lock.
type gate struct {
	holds  hold
	base   context.Context // ends with the session
	period context.Context // ends with the next hold; nil while there is one
	end    context.CancelFunc
	opened chan struct{} // closed when the gate is opened
}

func newGate(base context.Context, holds hold) *gate {
	g := &gate{base: base, holds: holds, opened: make(chan struct{})}
	if holds == 0 {
		g.open()
	}
	return g
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

// enter waits until the gate is open and returns the period's context; nil once the session polls no more. It runs without the
// lock.
func (f *flow) enter() context.Context {
	for f.gate.base.Err() == nil {
		f.fleet.mu.Lock()
		period, opened := f.gate.period, f.gate.opened
		f.fleet.mu.Unlock()
		if period != nil {
			return period
		}
		select {
		case <-opened:
		case <-f.gate.base.Done():
		}
	}
	return nil
}

// pause stops polling, and gives back what has not started.
func (f *flow) pause() {
	f.gate.shut(holdPaused)
	f.fleet.wakeAll() // whoever gathers a batch goes with what there is
	if f.lim.Keeps {  // what is here cannot go back, and nobody else could have it
		f.queue.frozen, f.queue.granted = true, false
		return
	}
	f.giveBackAll(f.park())
}

// park makes nothing runnable until letIn, and returns what is.
func (f *flow) park() []*Item {
	f.queue.parked, f.queue.granted = true, false
	f.fleet.wakeAll()
	return f.queue.surplus(0)
}

// letIn takes a reason to hold back away, and polls again if it was the last.
func (f *flow) letIn(h hold) {
	if f.gate.lift(h) && !f.queue.left {
		f.queue.parked, f.queue.frozen, f.queue.granted = false, false, false
		f.fleet.wakeAll()
	}
}
