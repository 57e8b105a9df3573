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
		got, err = q.poll(ctx, r)
	} else {
		got, err = q.take(r, nil)
	}
	if len(got) == 0 && err == nil {
		q.meter.empty.Add(1)
	}
	return got, err
}

// take takes available messages. If there are none, it enqueues the waiter under the same lock, so that no message can
// arrive in between unnoticed.
func (q *Queue) take(r Receive, w *waiter) ([]Received, error) {
	target := q.deadLetters()
	q.mu.Lock()
	if w != nil && w.bound {
		q.mu.Unlock()
		return nil, nil
	}
	t := taking{q: q, r: r, target: target, config: q.config.Load()}
	if r.Attempt != "" && q.opts.FIFO {
		q.bind(r.Attempt, w)
	}
	err := t.run()
	if w != nil && !w.last && err == nil && len(t.got) == 0 {
		q.join(w)
	}
	q.meter.counts.Received += len(t.got)
	q.changed()
	q.mu.Unlock()
	if len(t.dead) > 0 {
		target.adopt(t.dead, q)
	}
	return t.got, err
}

func (q *Queue) deadLetters() *Queue {
	if q.opts.DeadLetters == nil || q.config.Load().MaxReceives == 0 {
		return nil
	}
	return q.opts.DeadLetters()
}

// taking is one running receive.
type taking struct {
	q      *Queue
	r      Receive
	target *Queue // for dead letters; nil: they stay
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
	var again []*item // each message at most once per call
	defer func() {
		for _, it := range again {
			q.ready.push(it)
			q.wake()
		}
	}()
	for len(t.got) < t.r.Max {
		it := q.ready.head()
		if it == nil {
			return
		}
		if t.chance(t.config.Chaos.Reorder) {
			q.ready.remove(it)
			q.ready.push(it)
			it = q.ready.head()
		}
		if t.isDead(it) {
			continue
		}
		q.ready.remove(it)
		t.receive(it)
		if t.chance(t.config.Chaos.Duplicate) {
			again = append(again, it)
			q.journal.state(it)
			continue
		}
		q.hold(it, InFlight, t.now+t.r.Visibility)
		q.journal.state(it)
	}
}

// fromGroups takes as many messages as possible from the first ready group, then from the next. A group from which
// messages were taken is locked and leaves the list of ready groups.
func (t *taking) fromGroups() {
	q := t.q
	for len(t.got) < t.r.Max && q.readyGroups.head != nil {
		g := q.readyGroups.head
		for it := g.items.head; it != nil && it.state == Visible && len(t.got) < t.r.Max; {
			next := it.order.next
			if !t.isDead(it) {
				t.receive(it)
				q.flight(g, 1)
				q.hold(it, InFlight, t.now+t.r.Visibility)
				q.journal.state(it)
			}
			it = next
		}
		q.settle(g)
	}
	if t.r.Attempt != "" && len(t.got) > 0 {
		q.rememberAttempt(t)
	}
}

// isDead removes an item that was received too often already.
func (t *taking) isDead(it *item) bool {
	if t.target == nil || t.config.MaxReceives == 0 || int(it.count) < t.config.MaxReceives {
		return false
	}
	it.leave(t.q) // its journal forgets it together with its arrival in the other queue
	t.dead = append(t.dead, it)
	return true
}

func (t *taking) receive(it *item) {
	it.count++
	it.turn = it.turn.next(t.q.journal.epoch())
	if t.r.Visibility > 0 {
		it.hiding = it.turn
	}
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

// received returns an item as its receiver sees it.
func (q *Queue) received(it *item) Received {
	return Received{
		Message: it.message, Handle: q.handle(it), Count: int(it.count),
		Sent: q.opts.Clock.At(it.sent), First: q.opts.Clock.At(it.first),
		Sequence: sequenceText(it.sequence), Source: it.source,
	}
}

func (t *taking) chance(p float64) bool {
	return p > 0 && t.q.opts.Random.Float64() < p
}
