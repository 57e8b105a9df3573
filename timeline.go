package godwit

// tick is the place on a timeline of what it is of.
type tick[T any] struct {
	of         *T
	prev, next *tick[T]
	at         moment
	linked     bool
}

// timeline is a list of ticks sorted by the moment at which something is due. Insertion looks for its place from the end,
// where it almost always is, since what a keeper watches ends almost in the order in which it began.
type timeline[T any] struct{ head, tail *tick[T] }

func (l *timeline[T]) insert(n *tick[T], at moment) {
	after := l.tail
	for after != nil && after.at > at {
		after = after.prev
	}
	n.at, n.linked, n.prev = at, true, after
	if after == nil {
		n.next, l.head = l.head, n
	} else {
		n.next, after.next = after.next, n
	}
	if n.next == nil {
		l.tail = n
	} else {
		n.next.prev = n
	}
}

func (l *timeline[T]) remove(n *tick[T]) {
	if !n.linked {
		return
	}
	if n.prev == nil {
		l.head = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		l.tail = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.prev, n.next, n.linked = nil, nil, false
}

// pop takes the first of what is due by a moment, or nil.
func (l *timeline[T]) pop(by moment) *T {
	n := l.head
	if n == nil || n.at > by {
		return nil
	}
	l.remove(n)
	return n.of
}

// first is when the first is due; never: there is none.
func (l *timeline[T]) first() moment {
	if l.head == nil {
		return never
	}
	return l.head.at
}

// held is a retry that waits in its lane.
type held struct {
	d     *Delivery
	until moment
}

// holdHeap has the earliest first. Retries wait for very different times, so a list would not do for them.
type holdHeap []held

func (h holdHeap) Len() int           { return len(h) }
func (h holdHeap) Less(i, j int) bool { return h[i].until < h[j].until }
func (h holdHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *holdHeap) Push(x any)        { *h = append(*h, x.(held)) }
func (h *holdHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = held{}
	*h = old[:len(old)-1]
	return x
}
