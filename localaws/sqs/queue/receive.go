package queue

import (
	"context"
	"errors"
	"slices"
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
		err = errors.Join(err, t.reject())
	}
	if unread := t.read(); unread != nil {
		return nil, errors.Join(err, unread)
	}
	switch {
	case len(t.got) > 0:
		err = nil
	case len(t.keys) > 0 && w != nil:
		w.lookAgain()
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
	keys   []int64 // of got
	dead   []*item
}

// read reads the messages that are on disk only. A message that was deleted meanwhile is left out. The caller does not
// hold the queue's lock.
func (t *taking) read() error {
	var all []absent
	for i := range t.got {
		if t.got[i].Message == nil {
			all = append(all, absent{t.keys[i], &t.got[i].Message})
		}
	}
	if len(all) == 0 {
		return nil
	}
	err := t.q.journal.read(all)
	t.got = slices.DeleteFunc(t.got, func(r Received) bool { return r.Message == nil })
	return err
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

// reject moves the dead letters, which have left the queue, to theirs. The caller does not hold the queue's lock.
func (t *taking) reject() error {
	if err := t.q.journal.readItems(t.dead); err != nil {
		t.q.PutBack(movedFrom(t.q, t.dead)...)
		return err
	}
	t.target.adopt(t.dead, t.q)
	return nil
}

func (t *taking) receive(it *item) {
	it.count++
	it.turn = it.turn.next(t.q.journal.epoch())
	if t.r.Visibility > 0 {
		it.hiding = it.turn
	}
	p := it.history()
	if it.count == 1 {
		p.first = t.now
	}
	p.latest = t.now
	p.remember(receive{at: t.now, by: t.r.By})
	t.give(it)
}

// give adds an item to the answer.
func (t *taking) give(it *item) {
	if t.got == nil {
		t.got = make([]Received, 0, t.r.Max)
	}
	t.got = append(t.got, t.q.received(it))
	if t.q.journal != nil {
		t.keys = append(t.keys, it.key)
	}
}

// received returns an item as its receiver sees it.
func (q *Queue) received(it *item) Received {
	p := it.seen()
	return Received{
		Message: it.message, Handle: q.handle(it), Count: int(it.count),
		Sent: q.opts.Clock.At(it.sent), First: q.opts.Clock.At(p.first),
		Sequence: sequenceText(it.sequence), Source: p.source,
	}
}

func (t *taking) chance(p float64) bool {
	return p > 0 && t.q.opts.Random.Float64() < p
}
