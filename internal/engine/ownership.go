package engine

import (
	"context"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// ownership takes in what the backend says of sources that are ours no more, and of messages that it finished by
// itself. The backend calls it from goroutines of its own.
type ownership struct {
	f   *flow
	obs Observer
}

// revokedHandlers is the part of a revocation's time that handlers have to finish in; then they are cancelled.
const revokedHandlers = 0.8

// revoked is called by the backend before it lets go of sources: nothing more of them is started, and it returns when
// what was started is settled.
func (o *ownership) revoked(ctx context.Context, keys []*driver.Source) {
	dead := o.retire(keys)
	if end, limited := ctx.Deadline(); limited {
		patience := time.Duration(revokedHandlers * float64(time.Until(end)))
		defer time.AfterFunc(patience, func() {
			o.f.lock()
			o.f.stints.cancelOf(dead, ErrRevoked)
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

// retire lets nothing more of sources start, and drops what is held of them.
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

// lost is called by the backend when sources are someone else's already.
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
	o.obs.SourcesLost(err)
}

// discarded takes in what the backend finished unseen.
func (o *ownership) discarded(d driver.Discarded) {
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
