package queue

import (
	"errors"
	"slices"
	"time"
)

// take takes available messages. If there are none, it enqueues the waiter under the same lock, so that no message can
// arrive in between unnoticed.
func take(q *Queue, r Receive, w *waiter) ([]Received, error) {
	target := q.opts.deadLetters(q.config.Load())
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

func (o *Options) deadLetters(c *Config) *Queue {
	if o.DeadLetters == nil || c.MaxReceives == 0 {
		return nil
	}
	return o.DeadLetters()
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
		if a := q.attempts.find(t.r.Attempt, t.now); a != nil {
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
		t.remember()
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
	t.got = append(t.got, it.received(t.q))
	if t.q.journal != nil {
		t.keys = append(t.keys, it.key)
	}
}

// received returns an item as its receiver sees it.
func (it *item) received(q *Queue) Received {
	p := it.seen()
	return Received{
		Message: it.message, Handle: q.stamp.handle(it), Count: int(it.count),
		Sent: q.opts.Clock.At(it.sent), First: q.opts.Clock.At(p.first),
		Sequence: sequenceText(it.sequence()), Source: p.source,
	}
}

func (t *taking) chance(p float64) bool {
	return p > 0 && t.q.opts.Random.Float64() < p
}
