package queue

import (
	"errors"
	"time"
)

// Errors of Delete and ChangeVisibility.
var (
	ErrHandle  = errors.New("queue: not a handle of this queue")
	ErrExpired = errors.New("queue: the handle has expired")
	ErrGone    = errors.New("queue: the message does not exist or is not in flight for this handle")
	ErrBeyond  = errors.New("queue: beyond the longest time a message may be held after its receive")
)

// MaxHold is how long one receive may keep a message, all extensions included.
const MaxHold = 12 * time.Hour

// DeleteMessage deletes what a handle stands for. A handle whose message is
// gone is fine. So is, on a standard queue, one that somebody's later receive
// superseded, though it deletes nothing; one that merely expired still deletes.
// A FIFO queue takes neither.
func (q *Queue) DeleteMessage(handle string) error {
	key, serial, ok := q.parseHandle(handle)
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
		return nil
	}
	if q.opts.FIFO && (it.state != InFlight || it.serial != serial) {
		return ErrExpired
	}
	if it.serial == serial {
		q.drop(it)
		q.changed()
	}
	return nil
}

// ChangeVisibility sets the time until a message is visible again, counted from
// now; 0 gives it back at once. On a standard queue a handle that expired hides
// the message again, and one that a later receive superseded moves the later
// one's time: AWS does not mind which handle of a message it is.
func (q *Queue) ChangeVisibility(handle string, d time.Duration) error {
	key, serial, ok := q.parseHandle(handle)
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
	case q.opts.FIFO && (it.state != InFlight || it.serial != serial):
		return ErrExpired
	case it.state == Delayed:
		return ErrGone
	case (now-it.latest).Truncate(time.Second)+d > MaxHold: // timeouts are whole seconds, and twelve hours may be asked for
		return ErrBeyond
	}
	q.rehold(it, d, now)
	q.changed()
	return nil
}

// rehold moves the end of an item's visibility.
func (q *Queue) rehold(it *item, d, now time.Duration) {
	it.receives[len(it.receives)-1].changed = true
	switch {
	case it.state == InFlight && d == 0:
		q.timed.remove(it)
		q.makeReady(it)
	case it.state == InFlight:
		q.timed.remove(it)
		it.due = now + d
		q.timed.push(it)
	case d > 0:
		q.unready(it)
		q.hold(it, InFlight, now+d)
	}
}
