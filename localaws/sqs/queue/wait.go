package queue

import (
	"context"
	"time"
)

// waiter is a poll that waits in its queue's line.
type waiter struct {
	woken  chan struct{} // closed when it is worth looking
	inLine bool
	over   bool // the queue is closed: there is nothing to wait for
	link   link[waiter]
}

func waiterLink(w *waiter) *link[waiter] { return &w.link }

// poll is a receive that may wait.
func (q *Queue) poll(ctx context.Context, r Receive) ([]Received, error) {
	w := &waiter{}
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

// lastLook ends a poll whose time is up: it may have been woken in the same
// moment, and then the message is its own.
func (q *Queue) lastLook(ctx context.Context, r Receive, w *waiter) ([]Received, error) {
	q.leave(w)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.take(r, nil)
}

// join puts a waiter at the end of the line. It needs the lock.
func (q *Queue) join(w *waiter) {
	if w.over = q.closed; w.over {
		return
	}
	w.woken, w.inLine = make(chan struct{}), true
	q.waiters.pushBack(w)
}

// leave takes a waiter out of the line. One that was woken already passes on
// what it was woken for.
func (q *Queue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.inLine {
		w.inLine = false
		q.waiters.remove(w)
		q.arm()
		return
	}
	if q.ready.n > 0 || q.readyGroups.head != nil {
		q.wake()
	}
}

// wake wakes the first in the line, for one message or one group that became
// ready. Closing a channel never blocks, so it may happen under the lock.
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

// arm sets the timer to the next end of a delay or visibility while somebody
// waits or watches, and stops it otherwise. It needs the lock.
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

// ring is what the timer calls.
func (q *Queue) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = nil
	q.catchUp()
	q.changed()
}

// Await blocks until the queue's counts satisfy ok, or ctx ends. It does not
// poll: it looks after every change, and when a delay or visibility ends.
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

// Stats are a queue's counts.
type Stats struct {
	Visible, Delayed, InFlight int
	Waiters                    int           // polls that wait
	Oldest                     time.Duration // age of the oldest message; 0 without one
}

// Total is how many messages there are.
func (s Stats) Total() int { return s.Visible + s.Delayed + s.InFlight }
