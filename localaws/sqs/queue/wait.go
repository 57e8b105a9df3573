package queue

import (
	"context"
	"time"
)

// waiter is a waiting poll.
type waiter struct {
	woken  chan struct{} // closed when the poll should look again
	inLine bool
	over   bool // the queue is closed, and the poll need not wait
	last   bool // the poll's time is over
	// replaced is closed when another receive with the poll's attempt id has come; bound is true then. nil: the poll
	// has no attempt id.
	replaced chan struct{}
	bound    bool
	link     link[waiter]
}

func waiterLink(w *waiter) *link[waiter] { return &w.link }

// poll is a receive that can wait.
func (q *Queue) poll(ctx context.Context, r Receive) ([]Received, error) {
	w := &waiter{}
	if r.Attempt != "" && q.opts.FIFO {
		w.replaced = make(chan struct{})
		defer q.release(r.Attempt, w)
	}
	got, err := q.take(r, w)
	if len(got) > 0 || err != nil || w.over {
		return got, err
	}
	timeout := make(chan struct{})
	stop := q.opts.Clock.AfterFunc(r.Wait, func() { close(timeout) })
	defer stop()
	for {
		select {
		case <-ctx.Done():
			q.leave(w)
			return nil, ctx.Err()
		case <-w.replaced:
			q.leave(w)
			return nil, nil
		case <-timeout:
			return q.lastLook(ctx, r, w)
		case <-w.woken:
		}
		if err := ctx.Err(); err != nil {
			q.leave(w)
			return nil, err
		}
		got, err := q.take(r, w)
		if len(got) > 0 || err != nil || w.over {
			return got, err
		}
	}
}

// lookAgain makes a poll that is not in line take messages again, because the ones that it took were deleted before
// they were read.
func (w *waiter) lookAgain() {
	w.woken = make(chan struct{})
	close(w.woken)
}

// lastLook ends a poll whose time is over. If the poll was woken at the same moment, it takes the message.
func (q *Queue) lastLook(ctx context.Context, r Receive, w *waiter) ([]Received, error) {
	q.leave(w)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.last = true
	return q.take(r, w)
}

// bind gives an attempt id to a receive. An open poll with the same id ends without messages: its client asks again, so
// it may be gone. w is nil if the receive does not wait. The caller holds the lock.
func (q *Queue) bind(name string, w *waiter) {
	if old := q.polls[name]; old != nil && old != w {
		old.bound = true
		close(old.replaced)
		delete(q.polls, name)
	}
	if w != nil {
		q.polls[name] = w
	}
}

// release ends the poll of an attempt id.
func (q *Queue) release(name string, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.polls[name] == w {
		delete(q.polls, name)
	}
}

// join appends a waiter. The caller holds the lock.
func (q *Queue) join(w *waiter) {
	if w.over = q.closed; w.over {
		return
	}
	w.woken, w.inLine = make(chan struct{}), true
	q.waiters.pushBack(w)
}

// leave removes a waiter. If it was already woken, it wakes the next one instead.
func (q *Queue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.inLine {
		w.inLine = false
		q.waiters.remove(w)
		q.arm()
		return
	}
	if !q.ready.empty() || q.readyGroups.head != nil {
		q.wake()
	}
}

// wake wakes the first waiter for one message or group that became ready. Closing a channel never blocks, so this is
// allowed while the lock is held.
func (q *Queue) wake() {
	if w := q.waiters.head; w != nil {
		q.signal(w)
	}
}

func (q *Queue) signal(w *waiter) {
	w.inLine = false
	q.waiters.remove(w)
	close(w.woken)
}

// arm sets the timer to the next end of a delay or visibility timeout if a poll or Await waits, and stops it otherwise.
// The caller holds the lock.
func (q *Queue) arm() {
	next := q.timed.top()
	wanted := next != nil && (q.waiters.head != nil || q.watched != nil)
	if q.alarm != nil && (!wanted || q.alarmAt != next.due) {
		q.alarm()
		q.alarm = nil
	}
	if wanted && q.alarm == nil {
		q.alarmAt = next.due
		q.alarm = q.opts.Clock.AfterFunc(next.due-q.now(), q.ring)
	}
}

// ring is the function of the timer.
func (q *Queue) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = nil
	q.catchUp()
	q.changed()
}

// Await blocks until ok returns true for the queue's counts, or ctx ends. It checks after every change, and when a
// delay or a visibility timeout ends.
func (q *Queue) Await(ctx context.Context, ok func(Stats) bool) error {
	for {
		q.mu.Lock()
		q.catchUp()
		stats := q.stats()
		var change chan struct{}
		if !ok(stats) {
			if q.watched == nil {
				q.watched = make(chan struct{})
			}
			change = q.watched
			q.arm()
		}
		q.mu.Unlock()
		if change == nil {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stats are the counts of a queue.
type Stats struct {
	Visible, Delayed, InFlight int
	Waiters                    int           // polls that wait
	Oldest                     time.Duration // age of the oldest message; 0: there is none
}

// Total returns the number of messages.
func (s Stats) Total() int { return s.Visible + s.Delayed + s.InFlight }
