package engine

import "sync/atomic"

// lease is the state of an item's lease.
type lease struct {
	since moment
	ends  atomic.Int64 // a moment; written under the lock
	// of a renewal in flight, closed with its answer; the lease is then in the timeline at its end
	renewing chan struct{}
	going    bool // a release or retry is in flight: a later renewal would make the message invisible again

	prev, next *Item
	at         moment // when something is due
	linked     bool
}

func (l *lease) end() moment     { return moment(l.ends.Load()) }
func (l *lease) set(ends moment) { l.ends.Store(int64(ends)) }

// overBy reports whether a lease has ended by now.
func (l *lease) overBy(now moment) bool {
	ends := l.end()
	return ends != noMoment && ends <= now
}

// timeline is a list of items sorted by the time at which something is due for their leases. Insertion searches from
// the end, where the place almost always is, because leases end almost in the order in which they began.
type timeline struct {
	head, tail *Item
	n          int
}

func (t *timeline) insert(it *Item, at moment) {
	after := t.tail
	for after != nil && after.lease.at > at {
		after = after.lease.prev
	}
	l := &it.lease
	l.at, l.linked, l.prev = at, true, after
	if after == nil {
		l.next, t.head = t.head, it
	} else {
		l.next, after.lease.next = after.lease.next, it
	}
	if l.next == nil {
		t.tail = it
	} else {
		l.next.lease.prev = it
	}
	t.n++
}

func (t *timeline) remove(it *Item) {
	l := &it.lease
	if !l.linked {
		return
	}
	if l.prev == nil {
		t.head = l.next
	} else {
		l.prev.lease.next = l.next
	}
	if l.next == nil {
		t.tail = l.prev
	} else {
		l.next.lease.prev = l.prev
	}
	l.prev, l.next, l.linked = nil, nil, false
	t.n--
}

// pop removes the first item for which something is due, or returns nil.
func (t *timeline) pop(by moment) *Item {
	it := t.head
	if it == nil || it.lease.at > by {
		return nil
	}
	t.remove(it)
	return it
}

// first is when the first item is due; never: there is none.
func (t *timeline) first() moment {
	if t.head == nil {
		return never
	}
	return t.head.lease.at
}
