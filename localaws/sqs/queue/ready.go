package queue

// ready holds the visible items of a standard queue. Items that became visible for the first time stand in the order in
// which they did; an item whose visibility timeout ended stands where its age puts it, as on AWS.
type ready struct {
	fresh    table // by place
	returned heap  // by key, which is the order of arrival
}

// newReady returns an empty one. An item is in the heap of due times, or in this heap, so that both can store their
// index in timedAt.
func newReady() ready {
	return ready{
		fresh: newTable(1),
		returned: heap{
			less: func(a, b *item) bool { return a.key < b.key },
			at:   func(it *item) *int32 { return &it.timedAt },
		},
	}
}

// empty reports whether no item is visible.
func (r *ready) empty() bool { return r.fresh.n == 0 && len(r.returned.items) == 0 }

// push adds an item behind all others.
func (r *ready) push(it *item) { it.place = r.fresh.push(it) }

// putBack adds an item where its age puts it.
func (r *ready) putBack(it *item) { r.returned.push(it) }

// remove removes an item that is in it.
func (r *ready) remove(it *item) {
	if it.place == 0 {
		r.returned.remove(it)
		return
	}
	r.fresh.remove(it.place)
	it.place = 0
}

// head returns the item that a receive takes first, or nil.
func (r *ready) head() *item {
	first, old := r.fresh.head(), r.returned.top()
	if old != nil && (first == nil || old.key < first.key) {
		return old
	}
	return first
}
