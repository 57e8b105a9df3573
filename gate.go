package godwit

import (
	"context"
	"sync"
)

// gate lets pollers through while a consumer is not paused. Each period between two pauses has a context of its own, so
// that a pause ends the polls that are open.
type gate struct {
	mu     sync.Mutex
	base   context.Context // ends with the session
	period context.Context // ends with the next pause; nil while paused
	end    context.CancelFunc
	opened chan struct{} // closed when the gate is opened
}

func newGate(base context.Context, paused bool) *gate {
	g := &gate{base: base, opened: make(chan struct{})}
	if !paused {
		g.open()
	}
	return g
}

// open lets pollers through.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.period != nil {
		return
	}
	g.period, g.end = context.WithCancel(g.base)
	close(g.opened)
}

// shut holds pollers back, and says whether that is a change.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.period == nil {
		return false
	}
	g.end()
	g.period, g.opened = nil, make(chan struct{})
	return true
}

// closed says whether pollers are held back now.
func (g *gate) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.period == nil
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
