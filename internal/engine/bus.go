package engine

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
