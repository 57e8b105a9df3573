package engine

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// source is the state of one driver.Source: its lanes, and how many of its items are started and not yet settled, so
// that a revocation can wait for them. Guarded by the fleet's lock.
type source struct {
	last    map[uint64]*Item // the newest item of each lane, by the hash of its key
	started int              // items that are started, or being settled
	dead    bool             // it was revoked or lost
	over    bool             // quiet is closed
	quiet   chan struct{}    // closed when the source is dead and none of its items is started
}

func newSource() *source { return &source{last: map[uint64]*Item{}, quiet: make(chan struct{})} }

// laneOf is the lane of an order key. Two keys with the same hash share a lane, which is slower for them and still in
// order. It is never 0, which means no lane.
func laneOf(seed maphash.Seed, orderKey string) uint64 { return maphash.String(seed, orderKey) | 1 }

// join adds an item at the end of its lane.
func (s *source) join(it *Item) {
	if before := s.last[it.lane]; before != nil {
		before.laneNext, it.lanePrev = it, before
	}
	s.last[it.lane] = it
}

// leave removes an item from its lane.
func (s *source) leave(it *Item) {
	prev, next := it.lanePrev, it.laneNext
	switch {
	case prev != nil:
		prev.laneNext = next
		if next == nil {
			s.last[it.lane] = prev
		}
	case next == nil:
		delete(s.last, it.lane)
	}
	if next != nil {
		next.lanePrev = prev
	}
	it.lanePrev, it.laneNext = nil, nil
}

// kill prevents items of the source from starting.
func (s *source) kill() {
	s.dead = true
	s.check()
}

func (s *source) check() {
	if s.dead && s.started == 0 && !s.over {
		s.over = true
		close(s.quiet)
	}
}

// sources returns the source of an item. Guarded by the fleet's lock.
type sources struct {
	by      map[*driver.Source]*source
	retired []*driver.Source // dead, and still in by, because an open poll may return items of them
}

func (s *sources) of(key *driver.Source) *source {
	src := s.by[key]
	if src == nil {
		src = newSource()
		s.by[key] = src
	}
	return src
}

// retire ends sources; a later item of the same partition belongs to another epoch. A source that is not known yet is
// retired, too, because its first items may be between the backend and the session.
func (s *sources) retire(keys []*driver.Source) []*source {
	dead := make([]*source, len(keys))
	for i, key := range keys {
		dead[i] = s.of(key)
		dead[i].kill()
	}
	s.retired = append(s.retired, keys...)
	return dead
}

// mark is called before a poll. When the items of the poll have been accepted, sweep removes the sources that were
// retired before the poll, but for those with items that are still started: their handlers have ignored the end of the
// source, and the ledger counts them.
func (s *sources) mark() int { return len(s.retired) }

func (s *sources) sweep(mark int) {
	mark = min(mark, len(s.retired))
	kept := slices.DeleteFunc(slices.Clone(s.retired[:mark]), func(key *driver.Source) bool {
		src := s.by[key]
		if src == nil || src.over {
			delete(s.by, key)
			return true
		}
		return false
	})
	s.retired = slices.Replace(s.retired, 0, mark, kept...)
}

// count returns how many items of all sources are started, and how many lanes there are.
func (s *sources) count() (started, lanes int) {
	for _, src := range s.by {
		started, lanes = started+src.started, lanes+len(src.last)
	}
	return started, lanes
}

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
			f.then(it, wayReleaseHeld)
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
	o.f.fleet.mu.Lock()
	switch {
	case d.Err != nil:
	case d.Reason == driver.DiscardFiltered:
		o.f.count.Filtered += int64(d.Count)
	case d.Reason == driver.DiscardFinished:
		o.f.count.Redelivered += int64(d.Count)
	}
	o.f.fleet.mu.Unlock()
	o.obs.Discarded(d)
}
