package engine

import "time"

// lease is the state of an item's lease.
type lease struct {
	since, ends moment
	// of a renewal in flight, closed with its answer; the lease is then in the timeline at its end
	renewing chan struct{}
	going    bool // a release or retry is in flight: a later renewal would make the message invisible again

	prev, next *Item  // of the same entry
	entry      *dueAt // nil: the item is not in the timeline
}

// overBy reports whether a lease has ended by now.
func (l *lease) overBy(now moment) bool { return l.ends != noMoment && l.ends <= now }

// timeline has items sorted by the time at which something is due for their leases: a list of times, each with the list
// of its items. Insertion searches from the latest time, where the place almost always is, because leases end almost in
// the order in which they began. With thousands of workers many polls are open, and their answers overtake each other;
// so the keeper rounds times, and the search passes few entries.
type timeline struct {
	earliest, last *dueAt
	spare          *dueAt // an entry to be used again
	n              int    // items
}

// dueAt is the items for which something is due at a time, in the order of their insertion.
type dueAt struct {
	at         moment
	head, tail *Item
	prev, next *dueAt
}

func (t *timeline) insert(it *Item, at moment) {
	after := t.last
	for after != nil && after.at > at {
		after = after.prev
	}
	if after == nil || after.at < at {
		after = t.add(at, after)
	}
	l := &it.lease
	l.entry, l.prev, l.next = after, after.tail, nil
	if l.prev == nil {
		after.head = it
	} else {
		l.prev.lease.next = it
	}
	after.tail = it
	t.n++
}

// add adds an entry behind another one; nil: as the first.
func (t *timeline) add(at moment, prev *dueAt) *dueAt {
	e := t.spare
	if t.spare = nil; e == nil {
		e = &dueAt{}
	}
	e.at, e.prev = at, prev
	if prev == nil {
		e.next, t.earliest = t.earliest, e
	} else {
		e.next, prev.next = prev.next, e
	}
	if e.next == nil {
		t.last = e
	} else {
		e.next.prev = e
	}
	return e
}

func (t *timeline) remove(it *Item) {
	l := &it.lease
	e := l.entry
	if e == nil {
		return
	}
	if l.prev == nil {
		e.head = l.next
	} else {
		l.prev.lease.next = l.next
	}
	if l.next == nil {
		e.tail = l.prev
	} else {
		l.next.lease.prev = l.prev
	}
	l.prev, l.next, l.entry = nil, nil, nil
	if t.n--; e.head == nil {
		t.drop(e)
	}
}

// drop removes an entry without items.
func (t *timeline) drop(e *dueAt) {
	if e.prev == nil {
		t.earliest = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		t.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	*e = dueAt{}
	t.spare = e
}

// pop removes the first item for which something is due, or returns nil.
func (t *timeline) pop(by moment) *Item {
	if t.earliest == nil || t.earliest.at > by {
		return nil
	}
	it := t.earliest.head
	t.remove(it)
	return it
}

// first is when the first item is due; never: there is none.
func (t *timeline) first() moment {
	if t.earliest == nil {
		return never
	}
	return t.earliest.at
}

// moment is a point in time, relative to the session's clock. It saves memory: a time.Time is three words, one of them
// a pointer that the garbage collector follows. A delivery has half a dozen of them, and a session has thousands of
// deliveries.
type moment int64

const (
	noMoment moment = 0         // not reached, or unknown
	never    moment = 1<<63 - 1 // later than all others
)

// plus is the moment after a duration.
func (m moment) plus(d time.Duration) moment { return m + moment(d) }

// since is the duration since an earlier moment.
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// clock converts times to moments, and back.
type clock struct{ zero time.Time }

// newClock makes a clock whose moments are later than noMoment from now on.
func newClock() clock { return clock{time.Now().Add(-time.Hour)} }

func (c clock) now() moment { return moment(time.Since(c.zero)) }

// of converts a time.
func (c clock) of(t time.Time) moment { return moment(t.Sub(c.zero)) }

// time converts a moment.
func (c clock) time(m moment) time.Time { return c.zero.Add(time.Duration(m)) }
