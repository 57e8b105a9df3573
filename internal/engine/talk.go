package engine

import (
	"errors"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// talk is what a session reports to its observer after the fleet's lock is released. Guarded by the fleet's lock.
type talk struct {
	obs     Observer
	log     *slog.Logger
	notes   []note    // in any order
	orderly []func()  // one after another, in order
	told    Activity  // the last activity that was reported
	telling bool      // a goroutine reports what is orderly; others leave theirs to it
	empty   bool      // the last poll returned nothing
	halted  time.Time // when a poll said that the channel is paused at the service; zero: it is not
}

// note is a call of the observer about an item. It has the item's owner, because the item may be reused by then.
type note struct {
	owner any
	tell  func(o Observer, owner any)
}

// about adds a note, such as Observer.Released.
func (t *talk) about(it *Item, tell func(o Observer, owner any)) {
	t.notes = append(t.notes, note{it.Owner, tell})
}

// breaker reports the breaker's changes, in order.
func (t *talk) breaker(open bool, err error) {
	t.orderly = append(t.orderly, func() { t.obs.Breaker(open, err) })
}

// take returns the notes, and whether the caller must report what is orderly.
func (t *talk) take(doing Activity) (notes []note, orderly bool) {
	notes, t.notes = t.notes, nil
	if orderly = !t.telling && (len(t.orderly) > 0 || doing != t.told); orderly {
		t.telling = true
	}
	return notes, orderly
}

// tellInOrder reports what is orderly, and the session's activity, until there is nothing to report. It must be called
// without the lock.
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

// activity is what the session does now. It does not change between two items of a stream.
func (t *talk) activity(f *flow) Activity {
	switch {
	case f.running > 0:
		return ActivityProcessing
	case f.queue.runnable() && t.told == ActivityProcessing:
		return ActivityProcessing
	case !t.halted.IsZero() || f.gate.held(holdPaused):
		return ActivityPaused
	case t.empty:
		return ActivityIdle
	}
	return ActivityListening
}

// polled records whether a poll was empty, for the activity.
func (t *talk) polled(nothing, nothingRuns bool) { t.empty = nothing && (nothingRuns || t.empty) }

// paused reports that the service refuses polls because the channel is paused there.
func (t *talk) paused(why error, now time.Time) {
	if t.halted.IsZero() {
		t.orderly = append(t.orderly, func() {
			t.log.Warn("receives are refused; the consumer polls again until the channel is resumed", "error", why)
		})
	}
	t.halted = now
}

// resumed reports that a poll has succeeded. A poll that began before the pause says nothing about it.
func (t *talk) resumed(began time.Time) {
	if t.halted.IsZero() || began.Before(t.halted) {
		return
	}
	t.halted = time.Time{}
	t.orderly = append(t.orderly, func() {
		t.log.Warn("receives are not refused any more: the channel was resumed")
	})
}

// Poll is an answered poll, for the observer.
type Poll struct {
	Asked  int   // messages that were requested
	Bytes  int64 // of the received items
	Began  time.Time
	Took   time.Duration
	Err    error
	Owners []any // of the received items, with Config.TellOwners
}

// Settling is a request with a batch of verdicts that was answered, for the observer. Verdicts that a
// [driver.Finisher] takes are not among them.
type Settling struct {
	Of     [driver.Reject + 1]int // how many verdicts of each action the service has accepted
	Failed int                    // other verdicts, which may be sent again
	Began  time.Time
	Took   time.Duration
	Err    error
	Owners []any // of the settled items, with Config.TellOwners
}

// answered counts the verdicts by the service's answer.
func (s *Settling) answered(vs []verdict, err error) {
	s.Took, s.Err = time.Since(s.Began), err
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for i := range vs {
		if err != nil && !partial || partial && entries.Errs[i] != nil {
			s.Failed++
		} else {
			s.Of[vs[i].action]++
		}
	}
}

// Renewal is a request to renew leases that was answered, for the observer.
type Renewal struct {
	Leases int
	Failed int // of them
	Began  time.Time
	Took   time.Duration
	Err    error
}

// failedOf is how many entries of a request with n entries have failed.
func failedOf(err error, n int) int {
	var entries *driver.BatchError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &entries):
		return len(entries.Errs)
	}
	return n
}

func appendOwners(to []any, its []*Item) []any {
	for _, it := range its {
		to = append(to, it.Owner)
	}
	return to
}
