package queue

import (
	"context"
	"errors"
	"time"
)

// ErrOverLimit says that too many messages are in flight. Only a short poll of
// a standard queue hears of it; all others just find nothing.
var ErrOverLimit = errors.New("queue: too many messages are in flight")

// Receive is what a poll asks for.
type Receive struct {
	Max        int
	Visibility time.Duration // Default means the queue's
	Wait       time.Duration // 0 is a short poll
	Attempt    string        // ReceiveRequestAttemptId of a FIFO queue; "" means none
	By         string        // who asks, for the message's history
}

// Received is a message in somebody's hands.
type Received struct {
	*Message
	Handle   string
	Count    int       // how often it was received, this time included
	Sent     time.Time // in a standard dead-letter queue: the original time
	First    time.Time // first receive
	Sequence string    // of FIFO queues, else ""
	Source   string    // ARN of the queue it is a dead letter of, else ""
}

// Receive takes up to Max messages, waiting for the first of them up to Wait. A
// poll whose context has ended takes nothing. Nothing in time is no error.
func (q *Queue) Receive(ctx context.Context, r Receive) ([]Received, error) {
	if r.Wait > 0 {
		return q.poll(ctx, r)
	}
	got, err := q.take(r, nil)
	return got, err
}

// take takes what is there; with a waiter, and nothing there, the waiter joins
// the line under the same lock, so that nothing can slip in between.
func (q *Queue) take(r Receive, w *waiter) ([]Received, error) {
	target := q.deadLetters()
	q.mu.Lock()
	t := taking{q: q, r: r, target: target, config: q.config.Load()}
	err := t.run()
	if w != nil && err == nil && len(t.got) == 0 {
		q.join(w)
	}
	q.changed()
	q.mu.Unlock()
	if len(t.dead) > 0 {
		target.adopt(t.dead, q.opts.ARN)
	}
	return t.got, err
}

func (q *Queue) deadLetters() *Queue {
	if q.opts.DeadLetters == nil || q.config.Load().MaxReceives == 0 {
		return nil
	}
	return q.opts.DeadLetters()
}

// taking is one receive under way.
type taking struct {
	q      *Queue
	r      Receive
	target *Queue // for dead letters; nil keeps them
	config *Config
	now    time.Duration
	got    []Received
	dead   []*item
}

func (t *taking) run() error {
	q := t.q
	if q.deleted {
		return ErrDeleted
	}
	t.now = q.catchUp()
	if t.r.Attempt != "" && q.opts.FIFO {
		if a := q.attempt(t.r.Attempt, t.now); a != nil {
			return t.again(a)
		}
	}
	if limit := t.config.InFlight; limit > 0 {
		if q.counts[InFlight] >= limit && !q.opts.FIFO && t.r.Wait == 0 {
			return ErrOverLimit
		}
		t.r.Max = min(t.r.Max, limit-q.counts[InFlight])
	}
	if t.r.Visibility == Default {
		t.r.Visibility = t.config.Visibility
	}
	if q.opts.FIFO {
		t.fromGroups()
		return nil
	}
	t.fromReady()
	return nil
}

func (t *taking) fromReady() {
	q := t.q
	var again []*item // each at most once a call
	defer func() {
		for _, it := range again {
			it.place = q.ready.push(it)
			q.wake()
		}
	}()
	for len(t.got) < t.r.Max {
		it := q.ready.head()
		if it == nil {
			return
		}
		if t.chance(t.config.Chaos.Reorder) {
			q.unready(it)
			it.place = q.ready.push(it)
			it = q.ready.head()
		}
		if t.isDead(it) {
			continue
		}
		q.unready(it)
		t.receive(it)
		if t.chance(t.config.Chaos.Duplicate) {
			again = append(again, it)
			continue
		}
		q.hold(it, InFlight, t.now+t.r.Visibility)
	}
}

// fromGroups takes as many as possible of the first ready group, then of the
// next. A group that was taken from is locked; its place in the line is lost.
func (t *taking) fromGroups() {
	q := t.q
	for len(t.got) < t.r.Max && q.readyGroups.head != nil {
		g := q.readyGroups.head
		for it := g.items.head; it != nil && it.state == Visible && len(t.got) < t.r.Max; {
			next := it.order.next
			if !t.isDead(it) {
				t.receive(it)
				g.inFlight++
				q.hold(it, InFlight, t.now+t.r.Visibility)
			}
			it = next
		}
		q.settle(g)
	}
	if t.r.Attempt != "" && len(t.got) > 0 {
		q.rememberAttempt(t)
	}
}

// isDead takes out an item that was received too often already.
func (t *taking) isDead(it *item) bool {
	if t.target == nil || t.config.MaxReceives == 0 || it.count < t.config.MaxReceives {
		return false
	}
	t.q.drop(it)
	t.dead = append(t.dead, it)
	return true
}

func (t *taking) receive(it *item) {
	it.count++
	it.serial++
	if it.count == 1 {
		it.first = t.now
	}
	it.latest = t.now
	it.remember(receive{at: t.now, by: t.r.By})
	if t.got == nil {
		t.got = make([]Received, 0, t.r.Max)
	}
	t.got = append(t.got, t.q.received(it))
}

// received is an item as its receiver sees it.
func (q *Queue) received(it *item) Received {
	return Received{
		Message: it.message, Handle: q.handle(it), Count: it.count,
		Sent: q.opts.Clock.At(it.sent), First: q.opts.Clock.At(it.first),
		Sequence: sequenceText(it.sequence), Source: it.source,
	}
}

func (t *taking) chance(p float64) bool {
	return p > 0 && t.q.opts.Random.Float64() < p
}
