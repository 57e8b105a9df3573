package queue

import "context"

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
func poll(ctx context.Context, q *Queue, r Receive) ([]Received, error) {
	w := &waiter{}
	if r.Attempt != "" && q.opts.FIFO {
		w.replaced = make(chan struct{})
		defer w.release(q, r.Attempt)
	}
	got, err := take(q, r, w)
	if len(got) > 0 || err != nil || w.over {
		return got, err
	}
	timeout := make(chan struct{})
	stop := q.opts.Clock.AfterFunc(r.Wait, func() { close(timeout) })
	defer stop()
	for {
		select {
		case <-ctx.Done():
			w.leave(q)
			return nil, ctx.Err()
		case <-w.replaced:
			w.leave(q)
			return nil, nil
		case <-timeout:
			w.leave(q)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w.last = true // if the poll was woken at the same moment, it takes the message
			return take(q, r, w)
		case <-w.woken:
		}
		if err := ctx.Err(); err != nil {
			w.leave(q)
			return nil, err
		}
		got, err := take(q, r, w)
		if len(got) > 0 || err != nil || w.over {
			return got, err
		}
	}
}

// leave ends the wait. If the waiter was already woken, it wakes the next one instead.
func (w *waiter) leave(q *Queue) {
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

// release ends the poll of an attempt id.
func (w *waiter) release(q *Queue, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.named[name] == w {
		delete(q.named, name)
	}
}

// lookAgain makes a poll that is not in line take messages again, because the ones that it took were deleted before
// they were read.
func (w *waiter) lookAgain() {
	w.woken = make(chan struct{})
	close(w.woken)
}

// polls are the polls of a queue that wait. The queue's lock guards them.
type polls struct {
	closed  bool               // polls do not wait any more
	named   map[string]*waiter // by their attempt id, of a FIFO queue
	waiters list[waiter]
}

func newPolls(fifo bool) polls {
	p := polls{waiters: list[waiter]{link: waiterLink}}
	if fifo {
		p.named = map[string]*waiter{}
	}
	return p
}

// join appends a waiter. The caller holds the lock.
func (p *polls) join(w *waiter) {
	if w.over = p.closed; w.over {
		return
	}
	w.woken, w.inLine = make(chan struct{}), true
	p.waiters.pushBack(w)
}

// bind gives an attempt id to a receive. An open poll with the same id ends without messages: its client asks again, so
// it may be gone. w is nil if the receive does not wait. The caller holds the lock.
func (p *polls) bind(name string, w *waiter) {
	if old := p.named[name]; old != nil && old != w {
		old.bound = true
		close(old.replaced)
		delete(p.named, name)
	}
	if w != nil {
		p.named[name] = w
	}
}

// wake wakes the first waiter for one message or group that became ready. Closing a channel never blocks, so this is
// allowed while the lock is held.
func (p *polls) wake() {
	if w := p.waiters.head; w != nil {
		p.signal(w)
	}
}

// wakeAll wakes every waiter.
func (p *polls) wakeAll() {
	for w := p.waiters.head; w != nil; w = p.waiters.head {
		p.signal(w)
	}
}

func (p *polls) signal(w *waiter) {
	w.inLine = false
	p.waiters.remove(w)
	close(w.woken)
}
