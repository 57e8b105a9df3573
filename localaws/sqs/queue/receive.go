package queue

import (
	"context"
	"errors"
	"time"
)

// ErrOverLimit says that too many messages are in flight. Only a short poll of a standard queue returns it; other polls
// return no messages.
var ErrOverLimit = errors.New("queue: too many messages are in flight")

// Receive are the parameters of a poll.
type Receive struct {
	Max        int
	Visibility time.Duration // Default: the queue's
	Wait       time.Duration // 0: a short poll
	Attempt    string        // ReceiveRequestAttemptId of a FIFO queue; "": none
	By         string        // the caller, for the message's history
}

// Received is a received message.
type Received struct {
	*Message
	Handle   string
	Count    int       // how often it was received, including this time
	Sent     time.Time // in a standard dead-letter queue: the original time
	First    time.Time // first receive
	Sequence string    // of FIFO queues; otherwise ""
	Source   string    // ARN of the source queue of a dead letter; otherwise ""
}

// Receive takes up to Max messages, and waits up to Wait for the first of them. If its context has ended, it takes no
// message. It returns no error if no message comes in time.
func (q *Queue) Receive(ctx context.Context, r Receive) ([]Received, error) {
	var got []Received
	var err error
	if r.Wait > 0 {
		got, err = poll(ctx, q, r)
	} else {
		got, err = take(q, r, nil)
	}
	if len(got) == 0 && err == nil {
		q.meter.empty.Add(1)
	}
	return got, err
}

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
	key, turn, ok := q.stamp.parse(handle)
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
		it.drop(q)
		q.changed()
	}
	return nil
}

// ChangeVisibility sets the time until a message is visible again, counted from now; 0 makes it visible at once. On a
// standard queue an expired handle hides the message again, and a superseded handle changes the visibility of the later
// receive: AWS does not distinguish between the handles of a message.
func (q *Queue) ChangeVisibility(handle string, d time.Duration) error {
	key, turn, ok := q.stamp.parse(handle)
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
	q.journal.state(it)
	q.changed()
	return nil
}
