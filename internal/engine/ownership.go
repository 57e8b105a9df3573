package engine

import (
	"context"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// ownership handles what the backend reports: sources that are revoked or lost, and messages that it has discarded. The
// backend calls it from its own goroutines.
type ownership struct {
	f   *flow
	obs Observer
}

// revokedHandlers is the part of a revocation's time in which handlers may finish; then they are canceled.
const revokedHandlers = 0.8

// revoked is called by the backend before it gives up sources. No more of their items start, and it returns when the
// started ones are settled. When their handlers are canceled, what these have settled by a method counts, because they
// may never return.
func (o *ownership) revoked(ctx context.Context, keys []*driver.Source) {
	dead := o.retire(keys)
	if end, limited := ctx.Deadline(); limited {
		patience := time.Duration(revokedHandlers * float64(time.Until(end)))
		defer time.AfterFunc(patience, func() {
			o.f.lock()
			o.f.stints.cancelOf(dead, ErrRevoked)
			o.f.stints.concludeOf(dead)
			o.f.unlock()
		}).Stop()
	}
	for _, src := range dead {
		select {
		case <-src.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// retire prevents items of sources from starting, and drops the waiting ones.
func (o *ownership) retire(keys []*driver.Source) []*source {
	f := o.f
	f.lock()
	defer f.unlock()
	dead := f.sources.retire(keys)
	for _, it := range f.retries {
		if slices.Contains(dead, it.src) {
			f.then(it, wayHeld)
		}
	}
	return dead
}

// lost is called by the backend when sources already belong to another consumer.
func (o *ownership) lost(keys []*driver.Source, err error) {
	dead := o.retire(keys)
	f := o.f
	f.lock()
	for _, st := range f.stints.all {
		for _, it := range slices.Clone(st.its) {
			if slices.Contains(dead, it.src) {
				f.lose(it)
			}
		}
	}
	f.unlock()
	f.cfg.Log.Warn("partitions were lost", "error", err)
}

func (o *ownership) unopened(n int) { o.obs.Unopened(n) }

// discarded records messages that the backend has discarded, or that it could not finish.
func (o *ownership) discarded(d driver.Discarded) {
	o.f.cfg.Calls.Begin(calls.Discard, 1)
	o.f.cfg.Calls.End(calls.Discard, calls.Stall(d.Err))
	if d.Err != nil {
		o.obs.Discarded(d)
		return
	}
	o.f.fleet.mu.Lock()
	switch d.Reason {
	case driver.DiscardFiltered:
		o.f.count.Filtered += int64(d.Count)
	case driver.DiscardFinished:
		o.f.count.Redelivered += int64(d.Count)
	}
	o.f.fleet.mu.Unlock()
	o.obs.Discarded(d)
}
