package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Fleet is a pool of workers and what its sessions share: the lock, the bus, the budget of bytes.
type Fleet struct {
	alone bool // it has one session only
	bytes budget

	mu     sync.Mutex // guards all items of the fleet and all that they hold
	some   sync.Cond  // something may be runnable
	bus    bus
	idle   int // workers waiting for some
	seen   int // items that were on the bus when the lock was taken last
	all    bool
	closed bool

	wg    sync.WaitGroup // workers that are not given up
	size  int            // workers there should be
	there int            // workers there are, without those that are given up
	extra atomic.Int32   // there less size, for workers to look at between two items
}

// NewFleet starts a pool. Alone says that it will have one session only, which then has the pool for itself.
func NewFleet(workers int, bytes int64, alone bool) *Fleet {
	f := &Fleet{alone: alone, bytes: budget{limit: bytes}}
	f.some.L = &f.mu
	f.Resize(workers)
	return f
}

// Resize makes the pool so large. Surplus workers leave when they have finished what they do.
func (f *Fleet) Resize(n int) {
	f.mu.Lock()
	f.size = n
	f.fill()
	f.mu.Unlock()
	f.some.Broadcast()
}

// Close lets the workers go, and waits for them.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.some.Broadcast()
	f.wg.Wait()
}

// fill starts the workers that are missing. The caller holds f.mu.
func (f *Fleet) fill() {
	for ; f.there < f.size; f.there++ {
		f.wg.Add(1)
		go (&worker{fleet: f}).loop()
	}
	f.extra.Store(int32(f.there - f.size))
}

// surplus says whether the pool has more workers than it should.
func (f *Fleet) surplus() bool { return f.extra.Load() > 0 }

// dismissed says whether a worker may leave: the fleet is closed, or there still is one too many.
func (f *Fleet) dismissed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return true
	}
	if f.there <= f.size {
		return false
	}
	f.there--
	f.extra.Add(-1)
	return true
}

// replace lets another worker take the place of one whose handler does not return.
func (f *Fleet) replace(w *worker) {
	if w.replaced.Swap(true) {
		return
	}
	f.mu.Lock()
	f.there--
	f.fill()
	f.mu.Unlock()
	w.left()
}

// next waits for an item whose turn it is, and starts it; nil once the fleet is closed, or stop says so. stop is called
// with the lock held; whatever changes what it says wakes everybody.
func (f *Fleet) next(st *stint, stop func() bool) *Item {
	f.mu.Lock()
	for !stop() {
		if q := f.bus.next(); q != nil {
			it := q.head
			flow := it.in.flow
			started := flow.stints.begin(it, st)
			flow.unlock()
			if started {
				return it
			}
			f.mu.Lock()
			continue
		}
		if f.closed {
			break
		}
		f.idle++
		f.some.Wait()
		f.idle--
	}
	f.mu.Unlock()
	return nil
}

// toWake is how many workers there is something for that was not there before; negative: all. The caller holds f.mu.
func (f *Fleet) toWake() int {
	more := f.bus.n - f.seen
	f.seen = f.bus.n
	switch {
	case f.all || more > 0 && slices.ContainsFunc(f.bus.queues, func(q *queue) bool { return q.gathering }):
		f.all = false
		return -1 // the worker that gathers is among those that wait
	case more <= 0:
		return 0
	}
	return min(more, f.idle)
}

// wakeAll makes every worker look again, once the lock is released. The caller holds f.mu.
func (f *Fleet) wakeAll() { f.all = true }

// wakeNow makes every worker look again.
func (f *Fleet) wakeNow() {
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // the empty section orders this after a worker that has looked and not yet waits
	f.some.Broadcast()
}

func (f *Fleet) wake(n int) {
	if n < 0 {
		f.some.Broadcast()
		return
	}
	for range n {
		f.some.Signal()
	}
}
