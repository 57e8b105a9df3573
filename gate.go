package godwit

import (
	"context"
	"sync"
)

// hold is a reason to keep pollers back.
type hold uint8

const (
	holdPaused hold = 1 << iota // somebody has paused the consumer
	holdBroken                  // its breaker is open
)

// gate lets pollers through while there is no reason to hold them back. Each period between two holds has a context of
// its own, so that a hold ends the polls that are open.
type gate struct {
	mu     sync.Mutex
	holds  hold
	base   context.Context // ends with the session
	period context.Context // ends with the next hold; nil while there is one
	end    context.CancelFunc
	opened chan struct{} // closed when the gate is opened
}

func newGate(base context.Context, holds hold) *gate {
	g := &gate{base: base, holds: holds, opened: make(chan struct{})}
	if holds == 0 {
		g.period, g.end = context.WithCancel(base)
		close(g.opened)
	}
	return g
}

// lift takes a reason back, and lets pollers through if it was the last: then it calls also, while the gate can do
// nothing else.
func (g *gate) lift(h hold, also func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds &^= h
	if g.holds != 0 {
		return
	}
	also()
	if g.period != nil {
		return
	}
	g.period, g.end = context.WithCancel(g.base)
	close(g.opened)
}

// shut holds pollers back for a reason, and then calls also, while the gate can do nothing else.
func (g *gate) shut(h hold, also func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds |= h
	if g.period != nil {
		g.end()
		g.period, g.opened = nil, make(chan struct{})
	}
	also()
}

// closed says whether pollers are held back now.
func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.period == nil
}

// held says whether there is this reason to hold them back.
func (g *gate) held(h hold) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds&h != 0
}

// enter waits until the gate is open and returns the period's context; nil once the session polls no more.
func (g *gate) enter() context.Context {
	for g.base.Err() == nil {
		g.mu.Lock()
		period, opened := g.period, g.opened
		g.mu.Unlock()
		if period != nil {
			return period
		}
		select {
		case <-opened:
		case <-g.base.Done():
		}
	}
	return nil
}
