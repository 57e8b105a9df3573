package engine

import "github.com/godwitmq/godwit/driver"

// talk is what a session has to tell its observer once the fleet's lock is released. It keeps the owners of items,
// since the items may be used again by then. Guarded by the fleet's lock.
type talk struct {
	obs     Observer
	notes   []func() // in whatever order their goroutines come to it
	orderly []func() // one after another, in order
	told    Activity // what the observer was told last
	telling bool     // one goroutine tells what is orderly; the others leave it to that one
	empty   bool     // the last poll brought nothing
}

func (t *talk) note(f func()) { t.notes = append(t.notes, f) }

func (t *talk) givenBack(it *Item) {
	owner := it.Owner
	t.note(func() { t.obs.GivenBack(owner) })
}

func (t *talk) leaseLost(it *Item) {
	owner := it.Owner
	t.note(func() { t.obs.LeaseLost(owner) })
}

func (t *talk) timedOut(it *Item) {
	owner := it.Owner
	t.note(func() { t.obs.TimedOut(owner) })
}

func (t *talk) abandoned(it *Item, stack []byte) {
	owner := it.Owner
	t.note(func() { t.obs.Abandoned(owner, stack) })
}

func (t *talk) rejected(it *Item, death *driver.Death, reason error) {
	owner := it.Owner
	t.note(func() { t.obs.Rejected(owner, death, reason) })
}

func (t *talk) settleFailed(it *Item, action driver.Action, err error) {
	owner := it.Owner
	t.note(func() { t.obs.SettleFailed(owner, action, err) })
}

// breaker tells of the breaker's changes, in order.
func (t *talk) breaker(open bool, err error) {
	t.orderly = append(t.orderly, func() { t.obs.Breaker(open, err) })
}

// take takes the notes, and says whether the caller is to tell what is orderly.
func (t *talk) take(doing Activity) (notes []func(), orderly bool) {
	notes, t.notes = t.notes, nil
	if orderly = !t.telling && (len(t.orderly) > 0 || doing != t.told); orderly {
		t.telling = true
	}
	return notes, orderly
}

// pending says whether there are notes.
func (t *talk) pending() bool { return len(t.notes) > 0 }

// tellInOrder tells what is orderly, and what the session does, until there is nothing to tell. It runs without the
// lock.
func (t *talk) tellInOrder(f *flow) {
	for {
		f.lock()
		var tell func()
		if doing := t.activity(f); len(t.orderly) > 0 {
			tell, t.orderly = t.orderly[0], t.orderly[1:]
		} else if doing != t.told {
			t.told = doing
			tell = func() { t.obs.Doing(doing) }
		} else {
			t.telling = false
		}
		f.fleet.mu.Unlock()
		if tell == nil {
			return
		}
		tell()
	}
}

// activity is what the session does now, without flapping between two items of a stream.
func (t *talk) activity(f *flow) Activity {
	switch {
	case f.running > 0:
		return ActivityProcessing
	case f.queue.runnable() && t.told == ActivityProcessing:
		return ActivityProcessing
	case t.empty:
		return ActivityIdle
	}
	return ActivityListening
}

// polled notes what a poll has brought, for the activity.
func (t *talk) polled(nothing, nothingRuns bool) { t.empty = nothing && (nothingRuns || t.empty) }
