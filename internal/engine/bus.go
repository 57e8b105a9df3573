package engine

// bus has the runnable items of all sessions that share a pool of workers: one queue each, from which workers take in
// turn, so that a flooded channel cannot starve a quiet one. It has no length of its own: the sessions' places bound
// it, and so a push never blocks. Guarded by the fleet's lock.
type bus struct {
	queues []*queue
	turn   int // whose turn it is
	left   int // how often it may still be taken from before the turn goes on
	n      int // items on all queues
}

// queue is a session's part of the bus.
type queue struct {
	bus      *bus
	weight   int  // items taken in one turn; never changes
	priority int  // higher goes first; never changes
	alone    bool // no other session shares the workers, who are its limit; never changes
	batches  bool // items are handled in batches; never changes

	head, tail *Item
	n          int
	limit      int  // handlers at once, unless alone
	active     int  // handlers, unless alone
	parked     bool // the session is paused or stops: nothing more is taken in
	frozen     bool // the session is held back, and keeps what it has
	granted    bool // of which one may run all the same
	gathering  bool // a worker is filling a batch: nobody else takes anything
	left       bool // the session has ended
}

func (b *bus) join(q *queue) {
	q.bus = b
	b.queues = append(b.queues, q)
}

// leave takes out a queue, which is empty.
func (b *bus) leave(q *queue) {
	for i, other := range b.queues {
		if other == q {
			b.queues = append(b.queues[:i:i], b.queues[i+1:]...)
			b.turn, b.left = 0, 0
			return
		}
	}
}

// push puts an item at the end.
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

// remove takes an item out, wherever it stands.
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

// runnable says whether there is something that may run.
func (q *queue) runnable() bool { return q.head != nil && (!q.frozen || q.granted) }

// next is the queue to take from: of the highest priority that has something runnable and a handler to spare, in turn.
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

// seat counts a worker that begins to handle something of a queue.
func (q *queue) seat() {
	q.granted = false
	q.gathering = q.batches
	if !q.alone {
		q.active++
	}
}

// vacate takes that back, and says whether another worker may begin.
func (q *queue) vacate() bool {
	if q.alone {
		return false
	}
	q.active--
	return q.active < q.limit && q.head != nil
}

// surplus is the newest items beyond so many.
func (q *queue) surplus(keep int) (its []*Item) {
	for it := q.head; it != nil; it = it.lineNext {
		if keep--; keep < 0 {
			its = append(its, it)
		}
	}
	return its
}

// freeze lets nothing run, and keeps it.
func (q *queue) freeze() { q.frozen, q.granted = true, false }
