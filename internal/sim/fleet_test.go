package sim

import (
	"context"
	"time"

	"github.com/godwitmq/godwit"
)

// crew makes the consumers of a process a fleet.
func (r *run) crew() {
	f := r.ps[0].inc.fleet
	c := &crew{members: r.ps, most: f.options.Concurrency, bytes: f.options.MaxBytes, ended: make(chan struct{})}
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
	p.books.ends(p, err)
}

// halted is closed when one consumer of a fleet takes nothing any more; nil: the process has only one.
func (r *run) halted() <-chan struct{} {
	if r.ps[0].fleet == nil {
		return nil
	}
	return r.ps[0].fleet.ended
}

// together waits for the end of a fleet of which one consumer has ended. It says no if the others go on, as they may,
// until somebody stops them.
func (r *run) together() bool {
	wait := 5 * time.Second
	if r.ps[0].inc.fleet.options.StopTogether {
		wait = 2*stopsWithin + slack // first the one, and then the other
	}
	select {
	case <-r.done:
		return true
	case <-time.After(wait):
	}
	if r.ps[0].inc.fleet.options.StopTogether {
		r.w.fail("%s: one consumer has ended, and %v later the other has not", r.ps[0].name, wait)
	}
	return false
}

// stopsWithin is the longest ShutdownTimeout.
const stopsWithin = 30 * time.Second

// ends enters that RunAll has returned.
func (b *books) ends(p *member, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range p.fleet.members {
		if one.crashed || one.troubled() {
			return
		}
	}
	b.allows(p, err)
}
