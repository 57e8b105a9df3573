package godwit

// place is where a lease stands on the timeline.
type place struct {
	prev, next *lease
	at         moment // when something is due
	linked     bool
}

// timeline is a list of leases sorted by the moment at which something is due. Insertion looks for its place from the end, where
// it almost always is, since leases end almost in the order in which they began.
type timeline struct{ head, tail *lease }

func (t *timeline) insert(l *lease, at moment) {
	after := t.tail
	for after != nil && after.at > at {
		after = after.prev
	}
	l.at, l.linked, l.prev = at, true, after
	if after == nil {
		l.next, t.head = t.head, l
	} else {
		l.next, after.next = after.next, l
	}
	if l.next == nil {
		t.tail = l
	} else {
		l.next.prev = l
	}
}

func (t *timeline) remove(l *lease) {
	if !l.linked {
		return
	}
	if l.prev == nil {
		t.head = l.next
	} else {
		l.prev.next = l.next
	}
	if l.next == nil {
		t.tail = l.prev
	} else {
		l.next.prev = l.prev
	}
	l.prev, l.next, l.linked = nil, nil, false
}

// pop takes the first of what is due by a moment, or nil.
func (t *timeline) pop(by moment) *lease {
	l := t.head
	if l == nil || l.at > by {
		return nil
	}
	t.remove(l)
	return l
}

// first is when the first is due; never: there is none.
func (t *timeline) first() moment {
	if t.head == nil {
		return never
	}
	return t.head.at
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
