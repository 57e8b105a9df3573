package engine

import (
	"slices"
	"sync"
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
}

// surplus reports whether the pool has too many workers. The caller holds f.mu.
func (f *Fleet) surplus() bool { return f.there > f.size }

// dismissed reports whether a worker may end: the fleet is closed, or there is still one too many.
func (f *Fleet) dismissed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || !f.surplus() {
		return f.closed
	}
	f.there--
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
	f.unlock()
	return nil
}

// unlock releases the lock, and then wakes workers for what has happened since it was taken.
func (f *Fleet) unlock() {
	n := f.toWake()
	f.mu.Unlock()
	switch {
	case n < 0:
		f.some.Broadcast()
	case n > 0:
		f.some.Signal()
	}
}

// toWake is how many workers to wake, none or one; negative: all. One is woken when items have come, and by each that
// starts an item another one, while there are more: so workers wake one after another, and none wakes for an item that
// a worker who was awake has taken. The caller holds f.mu.
func (f *Fleet) toWake() int {
	more, began := f.bus.n-f.seen, f.began
	f.seen, f.began = f.bus.n, false
	news := f.bus.n > 0 && (more > 0 || began)
	switch {
	case f.all || news && slices.ContainsFunc(f.bus.queues, func(q *queue) bool { return q.gathering }):
		f.all = false
		return -1 // one of those that wait may be a worker that gathers, and would keep the signal
	case !news || f.idle == 0 || f.waking:
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

// bus has the items that can start, of all sessions that share a pool of workers. Each session has a queue, and workers
// take items from the queues in turn, so that a flooded channel does not delay a quiet one. The bus has no bound of its
// own: the sessions' places bound it, so push never blocks. Guarded by the fleet's lock.
type bus struct {
	queues []*queue
	turn   int // index of the queue whose turn it is
	left   int // how many items the turn may still take
	n      int // items on all queues
}

// queue is the part of the bus for one session.
type queue struct {
	bus      *bus
	weight   int  // items in one turn; never changes
	priority int  // higher starts first; never changes
	alone    bool // no other session uses the workers, whose number is the limit; never changes
	batches  bool // items are handled in batches; never changes

	head, tail *Item
	n          int
	limit      int  // handlers at the same time, unless alone
	active     int  // running handlers, unless alone
	parked     bool // the session is paused or stops: nothing is added
	frozen     bool // nothing starts, and the session keeps its items
	granted    bool // one item may start although the queue is frozen
	gathering  bool // a worker gathers a batch: no other worker takes an item
	left       bool // the session has ended
}

func (b *bus) join(q *queue) {
	q.bus = b
	b.queues = append(b.queues, q)
}

// leave removes a queue, which must be empty.
func (b *bus) leave(q *queue) {
	for i, other := range b.queues {
		if other == q {
			b.queues = append(b.queues[:i:i], b.queues[i+1:]...)
			b.turn, b.left = 0, 0
			return
		}
	}
}

// push adds an item at the end.
func (q *queue) push(it *Item) {
	if it.linePrev = q.tail; q.tail == nil {
		q.head = it
	} else {
		q.tail.lineNext = it
	}
	q.tail = it
	q.n++
	q.bus.n++
}

// remove removes an item, wherever it is.
func (q *queue) remove(it *Item) {
	if it.linePrev == nil {
		q.head = it.lineNext
	} else {
		it.linePrev.lineNext = it.lineNext
	}
	if it.lineNext == nil {
		q.tail = it.linePrev
	} else {
		it.lineNext.linePrev = it.linePrev
	}
	it.linePrev, it.lineNext = nil, nil
	q.n--
	q.bus.n--
}

// runnable reports whether an item can start.
func (q *queue) runnable() bool { return q.head != nil && (!q.frozen || q.granted) }

// next is the queue to take an item from: in turn, among those of the highest priority that have an item which can
// start, and a free handler.
func (b *bus) next() *queue {
	if b.n == 0 {
		return nil
	}
	best := -1
	for i := range b.queues {
		at := (b.turn + i) % len(b.queues)
		q := b.queues[at]
		if !q.runnable() || q.gathering || !q.alone && q.active >= q.limit {
			continue
		}
		if best < 0 || q.priority > b.queues[best].priority {
			best = at
		}
	}
	if best < 0 {
		return nil
	}
	q := b.queues[best]
	if best != b.turn || b.left <= 0 {
		b.turn, b.left = best, q.weight
	}
	if b.left--; b.left <= 0 {
		b.turn = (b.turn + 1) % len(b.queues)
	}
	return q
}

// seat counts a worker that begins to handle an item of the queue.
func (q *queue) seat() {
	q.granted = false
	q.gathering = q.batches
	if !q.alone {
		q.active++
	}
}

// vacate ends that, and reports whether another worker may begin.
func (q *queue) vacate() bool {
	if q.alone {
		return false
	}
	q.active--
	return q.active < q.limit && q.head != nil
}

// surplus returns the newest items beyond the first keep.
func (q *queue) surplus(keep int) (its []*Item) {
	for it := q.head; it != nil; it = it.lineNext {
		if keep--; keep < 0 {
			its = append(its, it)
		}
	}
	return its
}

// freeze prevents items from starting, and keeps them.
func (q *queue) freeze() { q.frozen, q.granted = true, false }
