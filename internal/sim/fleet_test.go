package sim

import (
	"context"
	"time"

	"github.com/godwitmq/godwit"
)

// joinFleet makes the consumers of a process a fleet.
func (r *run) joinFleet() {
	f := r.ps[0].inc.fleet
	c := &fleetState{members: r.ps, most: f.options.Concurrency, bytes: f.options.MaxBytes, ended: make(chan struct{})}
	for i, p := range r.ps {
		p.fleet, p.weight = c, f.weights[i]
	}
	r.ps[0].priority = f.priority
}

// all runs the consumers of a fleet.
func (r *run) all(ctx context.Context) {
	f := r.ps[0].inc.fleet
	var as []godwit.Assignment
	for i, p := range r.ps {
		a := r.cs[i].With(r.w.handler(p))
		if p.inc.batch != nil {
			a = r.cs[i].WithBatches(r.w.batchHandler(p), p.inc.batch)
		}
		as = append(as, a.Weight(p.weight).Priority(p.priority))
	}
	if f.floodsWay {
		as[0], as[1] = as[1], as[0]
	}
	err := godwit.RunAll(ctx, &f.options, as...)
	p := r.ps[0]
	p.checker.ends(p, err)
}

// halted is closed when one consumer of the fleet receives no more. It is nil if the process has only one consumer.
func (r *run) halted() <-chan struct{} {
	if r.ps[0].fleet == nil {
		return nil
	}
	return r.ps[0].fleet.ended
}

// together waits for the end of a fleet after one of its consumers has ended. It returns false if the other consumer
// continues, which is allowed without StopTogether.
func (r *run) together() bool {
	wait := 5 * time.Second
	if r.ps[0].inc.fleet.options.StopTogether {
		wait = 2*stopsWithin + slack // the consumers stop one after the other
	}
	select {
	case <-r.done:
		return true
	case <-time.After(wait):
	}
	if r.ps[0].inc.fleet.options.StopTogether {
		r.w.fail("%s: one consumer has ended, and the other still runs %v later", r.ps[0].name, wait)
	}
	return false
}

// stopsWithin is the longest ShutdownTimeout.
const stopsWithin = 30 * time.Second

// ends records that RunAll has returned.
func (c *checker) ends(p *consumer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range p.fleet.members {
		if one.crashed || one.troubled() {
			return
		}
	}
	c.allows(p, err)
}
