package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Fleet is a pool of workers, with what its sessions share: the lock, the bus and the budget of bytes.
type Fleet struct {
	alone bool // it has only one session
	bytes budget

	mu     sync.Mutex // guards all items of the fleet and everything that they hold
	some   sync.Cond  // signaled when an item may be able to start
	bus    bus
	idle   int  // workers that wait for some
	seen   int  // items on the bus when the lock was last released
	began  bool // an item has started since then
	waking bool // a worker was signaled, and has not looked yet
	all    bool
	closed bool

	wg    sync.WaitGroup // workers that are not abandoned
	size  int            // workers that there should be
	there int            // workers that there are, without abandoned ones
	extra atomic.Int32   // there minus size; workers read it between two items
}

// NewFleet starts a pool. alone means that it will have only one session.
func NewFleet(workers int, bytes int64, alone bool) *Fleet {
	f := &Fleet{alone: alone, bytes: budget{limit: bytes}}
	f.some.L = &f.mu
	f.Resize(workers)
	return f
}

// Resize changes the number of workers. Surplus workers finish their handlers first.
func (f *Fleet) Resize(n int) {
	f.mu.Lock()
	f.size = n
	f.fill()
	f.mu.Unlock()
	f.some.Broadcast()
}

// Close ends the workers, and waits for them.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.some.Broadcast()
	f.wg.Wait()
}

// fill starts missing workers. The caller holds f.mu.
func (f *Fleet) fill() {
	for ; f.there < f.size; f.there++ {
		f.wg.Add(1)
		go (&worker{fleet: f}).loop()
	}
	f.extra.Store(int32(f.there - f.size))
}

// surplus reports whether the pool has too many workers.
func (f *Fleet) surplus() bool { return f.extra.Load() > 0 }

// dismissed reports whether a worker may end: the fleet is closed, or there is still one too many.
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

// retire lets a worker end with its handler, so that it takes no item that it would never handle. The caller holds
// f.mu, and calls refill when it has released it.
func (f *Fleet) retire(w *worker) {
	if !w.replaced.Swap(true) {
		f.there--
	}
}

// refill starts another worker instead of one that was retired.
func (f *Fleet) refill(w *worker) {
	f.mu.Lock()
	f.fill()
	f.mu.Unlock()
	w.left()
}

// next waits for an item whose turn it is, and starts it. It returns nil when the fleet is closed, or when stop returns
// true. stop is called with the lock held; whoever changes its result must wake the workers.
func (f *Fleet) next(st *stint, stop func() bool) *Item {
	f.mu.Lock()
	for !stop() {
		if q := f.bus.next(); q != nil {
			it := q.head
			flow := it.in.flow
			f.began = flow.stints.begin(it, st, flow.clock.now())
			started := f.began
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
		f.waking = false
	}
	f.began = true // the signal that it may have had is for another one
	wake := f.toWake()
	f.mu.Unlock()
	f.wake(wake)
	return nil
}

// toWake is how many workers to wake; negative: all. One is woken when items have come, and by each that starts an item
// another one, while there are more: so workers wake one after another, and none wakes for an item that a worker who
// was awake has taken. The caller holds f.mu.
func (f *Fleet) toWake() int {
	more, began := f.bus.n-f.seen, f.began
	f.seen, f.began = f.bus.n, false
	switch {
	case f.all || more > 0 && slices.ContainsFunc(f.bus.queues, func(q *queue) bool { return q.gathering }):
		f.all = false
		return -1 // one of those that wait may be the worker that gathers
	case f.bus.n == 0 || f.idle == 0 || f.waking || more <= 0 && !began:
		return 0
	}
	f.waking = true
	return 1
}

// wakeAll wakes all workers when the lock is released. The caller holds f.mu.
func (f *Fleet) wakeAll() { f.all = true }

// wakeNow wakes all workers.
func (f *Fleet) wakeNow() {
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // without it, a worker that is about to wait would miss the broadcast
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
