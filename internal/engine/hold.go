package engine

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// holder holds retries in their lanes until they are due. Guarded by the fleet's lock.
type holder struct {
	f   *flow
	log driver.AttemptLog // nil: the backend does not store the attempts of held retries
}

// wants reports whether a retry of an item in hand is held, instead of left to the service. If so, its lane is on the
// shelf, if there is room.
func (h *holder) wants(it *Item, after time.Duration) bool {
	f := h.f
	switch {
	case f.lim.RetryMax == 0, after < f.lim.RetryMin: // the service cannot keep it
		h.toShelf(it, false)
		return true
	case after >= f.lim.HoldBelow && !it.laneNext.laneNearLimit():
		return false
	}
	return h.toShelf(it, false) || it.laneNext.laneNearLimit()
}

// toShelf moves a lane to the shelf, from its head on, if there is room for all of it. soon means that it starts soon.
func (h *holder) toShelf(head *Item, soon bool) bool {
	f := h.f
	if f.lim.Keeps {
		// A log has many places, and the items behind are delivered with or without room.
		return true
	}
	n, size := 0, int64(0)
	for it := head; it != nil; it = it.laneNext {
		if it.held&hasShelf == 0 {
			n, size = n+1, size+it.size
		}
	}
	if !f.places.shelfFor(n, size, soon) {
		return false
	}
	for it := head; it != nil; it = it.laneNext {
		if it.held&(hasPlace|hasBehind) != 0 {
			f.ledger.shelve(it)
		}
	}
	return true
}

// offShelf moves a lane back to the places, from its head on. If it needs more places than are free, polls wait.
func (h *holder) offShelf(head *Item) {
	for it := head; it != nil && it.held&hasShelf != 0; it = it.laneNext {
		h.f.ledger.unshelve(it)
	}
}

// hold returns an item in hand to its lane until it is due, with its number of starts. The key waits, and the
// worker does not. If nothing may wait now, the item is released.
func (h *holder) hold(it *Item, after time.Duration, starts int) {
	f := h.f
	if h.log != nil && starts > 0 {
		h.log.Started(it.handle, int32(starts))
	}
	it.Attempt = starts + 1
	h.shelve(it, f.clock.now().plus(after))
	if it.src.dead || !f.gate.keeps && (f.stopping() || f.gate.holds != 0 && !f.lim.Keeps) {
		f.then(it, wayReleaseHeld)
	}
}

// shelve makes an item wait until it is due.
func (h *holder) shelve(it *Item, until moment) {
	it.until = until
	h.f.move(it, evHold)
	h.f.keeper.due(until)
}

// forRate holds an item that may not start yet because of a rate, and reports whether it does. An item that would wait
// for long for its tenant's rate is released with a delay, unless it must stay.
func (h *holder) forRate(it *Item, must bool) bool {
	f := h.f
	now := f.clock.now()
	at := f.rates.slot(it, now)
	if at <= now {
		return false
	}
	if !it.tenantCounted { // it waits for at most rateWait, in its place
		h.shelve(it, at)
		return true
	}
	// An item that has just been received, and starts before its lease has to be renewed, may be on the shelf.
	room := at.since(now) <= max(f.lim.Lease/2, 2*minTenantPause) && h.toShelf(it, true)
	if !room && !must && !it.often() && f.lim.RetryMax > 0 {
		f.releaseAfter(it, evRelease, f.rates.later(it, now))
	} else {
		h.shelve(it, at)
	}
	return true
}

// due lets the retries start that are due.
func (h *holder) due(now moment) {
	for it := h.f.retries.due(now); it != nil; it = h.f.retries.due(now) {
		h.offShelf(it)
		h.f.ready(it, true)
	}
}

// startLogSize bounds the log. For a message that is no longer in it, releases count as attempts, so that it still
// ends.
const startLogSize = 100_000

// startLog stores how often messages that were returned to the service have really started and failed, because the
// service counts every receive. Guarded by the fleet's lock.
type startLog struct {
	by    map[string]startNote
	order []string // ring of ids, oldest at next
	next  int
}

type startNote struct{ received, starts, failures int32 }

func newStartLog() *startLog { return &startLog{by: map[string]startNote{}} }

// note records that an item is returned to the service after a number of starts.
func (l *startLog) note(it *Item, starts int) {
	if it.received == 0 {
		return
	}
	if _, known := l.by[it.ID]; !known {
		// no record is needed; an existing record must be replaced
		if int32(starts) == it.received && it.Failures == 0 {
			return
		}
		if len(l.order) < startLogSize {
			l.order = append(l.order, it.ID)
		} else {
			delete(l.by, l.order[l.next])
			l.order[l.next] = it.ID
			l.next = (l.next + 1) % startLogSize
		}
	}
	l.by[it.ID] = startNote{it.received, int32(starts), int32(it.Failures)}
}

// attempt returns the number of a delivery's next start, and its failures, as far as they are known here.
func (l *startLog) attempt(in *driver.Delivery) (attempt, failures int) {
	if in.Attempt > 0 {
		return int(in.Attempt) + 1, int(in.Attempt)
	}
	if n, known := l.by[in.ID]; known && in.Received > n.received {
		return int(n.starts + in.Received - n.received), int(n.failures)
	}
	return max(1, int(in.Received)), 0
}

// retries are the items whose retry is held, the earliest first. It is a heap and not a list like the timeline of
// leases, because the delays of retries differ a lot. Guarded by the fleet's lock.
type retries []*Item

// due returns the first item if it is due, or nil. It does not remove it.
func (r retries) due(by moment) *Item {
	if len(r) == 0 || r[0].until > by {
		return nil
	}
	return r[0]
}

// first is when the first item is due; never: there is none.
func (r retries) first() moment {
	if len(r) == 0 {
		return never
	}
	return r[0].until
}

// inPlaces is how many have a place instead of room on the shelf.
func (r retries) inPlaces() (n int) {
	for _, it := range r {
		if it.held&hasPlace != 0 {
			n++
		}
	}
	return n
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r retries) Len() int           { return len(r) }
func (r retries) Less(i, j int) bool { return r[i].until < r[j].until }
func (r retries) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].heapAt, r[j].heapAt = i, j
}

func (r *retries) Push(x any) {
	it := x.(*Item)
	it.heapAt = len(*r)
	*r = append(*r, it)
}

func (r *retries) Pop() any {
	old := *r
	last := len(old) - 1
	it := old[last]
	old[last] = nil
	*r = old[:last]
	return it
}
