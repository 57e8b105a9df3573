package queue

import (
	"errors"
	"time"
)

// Errors of Delete and ChangeVisibility.
var (
	ErrHandle  = errors.New("queue: not a handle of this queue")
	ErrExpired = errors.New("queue: the receipt handle has expired")
	ErrGone    = errors.New("queue: the message does not exist or is not in flight for this handle")
	ErrBeyond  = errors.New("queue: a message cannot stay in flight that long after its receive")
)

// MaxHold is how long one receive may hold a message, including all extensions.
const MaxHold = 12 * time.Hour

// DeleteMessage deletes the message of a handle. It succeeds if the message does not exist any more. On a standard
// queue, a handle that a later receive has superseded also succeeds, but deletes nothing, and a handle that has merely
// expired deletes the message. A FIFO queue refuses both. Only a receive that hides the message supersedes: as recorded
// on AWS, the first of two handles with a visibility timeout of zero still deletes.
func (q *Queue) DeleteMessage(handle string) error {
	key, turn, ok := q.parseHandle(handle)
	if !ok {
		return ErrHandle
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted {
		return ErrDeleted
	}
	q.catchUp()
	it := q.items.at(key)
	if it == nil {
		q.meter.counts.Deleted++
		return nil
	}
	if q.opts.FIFO && (it.state != InFlight || it.superseded(turn)) {
		return ErrExpired
	}
	q.meter.counts.Deleted++
	if !it.superseded(turn) {
		q.drop(it)
		q.changed()
	}
	return nil
}

// ChangeVisibility sets the time until a message is visible again, counted from now; 0 makes it visible at once. On a
// standard queue an expired handle hides the message again, and a superseded handle changes the visibility of the later
// receive: AWS does not distinguish between the handles of a message.
func (q *Queue) ChangeVisibility(handle string, d time.Duration) error {
	key, turn, ok := q.parseHandle(handle)
	if !ok {
		return ErrHandle
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted {
		return ErrDeleted
	}
	now := q.catchUp()
	it := q.items.at(key)
	switch {
	case it == nil:
		return ErrGone
	case q.opts.FIFO && (it.state != InFlight || it.superseded(turn)):
		return ErrExpired
	case it.state == Delayed:
	case it.lost(turn):
		return ErrGone
	// Timeouts are whole seconds, and a caller may ask for the full twelve hours.
	case (now-it.past.latest).Truncate(time.Second)+d > MaxHold:
		return ErrBeyond
	}
	q.rehold(it, d, now)
	q.changed()
	return nil
}

// rehold changes the end of an item's visibility timeout.
func (q *Queue) rehold(it *item, d, now time.Duration) {
	it.past.newest().changed = true
	switch {
	case it.state == InFlight && d == 0:
		q.timed.remove(it)
		q.makeReady(it)
	case it.state == InFlight:
		q.timed.remove(it)
		it.due = now + d
		q.timed.push(it)
	case d > 0:
		q.ready.remove(it)
		q.hold(it, InFlight, now+d)
	}
	q.journal.state(it)
}
