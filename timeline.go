package godwit

import "time"

// tick is a delivery's place on one timeline.
type tick struct {
	prev, next *Delivery
	linked     bool
	at         time.Time
}

// timeline is a list of deliveries sorted by the time at which something is due for them. Insertion looks for its place
// from the end, where it almost always is, since what a keeper watches ends almost in the order in which it began.
type timeline struct {
	head, tail *Delivery
	tick       func(*Delivery) *tick // which of a delivery's ticks this list is made of
}

func (l *timeline) insert(d *Delivery, at time.Time) {
	after := l.tail
	for after != nil && l.tick(after).at.After(at) {
		after = l.tick(after).prev
	}
	n := l.tick(d)
	n.at, n.linked, n.prev = at, true, after
	if after == nil {
		n.next, l.head = l.head, d
	} else {
		n.next, l.tick(after).next = l.tick(after).next, d
	}
	if n.next == nil {
		l.tail = d
	} else {
		l.tick(n.next).prev = d
	}
}

func (l *timeline) remove(d *Delivery) {
	n := l.tick(d)
	if !n.linked {
		return
	}
	if n.prev == nil {
		l.head = n.next
	} else {
		l.tick(n.prev).next = n.next
	}
	if n.next == nil {
		l.tail = n.prev
	} else {
		l.tick(n.next).prev = n.prev
	}
	n.prev, n.next, n.linked = nil, nil, false
}

// pop takes the first delivery that is due by a time, or nil.
func (l *timeline) pop(by time.Time) *Delivery {
	d := l.head
	if d == nil || l.tick(d).at.After(by) {
		return nil
	}
	l.remove(d)
	return d
}

// first is when the first delivery is due; zero: never.
func (l *timeline) first() time.Time {
	if l.head == nil {
		return time.Time{}
	}
	return l.tick(l.head).at
}

// held is a retry that waits in its lane.
type held struct {
	d     *Delivery
	until time.Time
}

// holdHeap has the earliest first. Retries wait for very different times, so a list would not do for them.
type holdHeap []held

func (h holdHeap) Len() int           { return len(h) }
func (h holdHeap) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h holdHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *holdHeap) Push(x any)        { *h = append(*h, x.(held)) }
func (h *holdHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = held{}
	*h = old[:len(old)-1]
	return x
}
