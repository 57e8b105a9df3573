package queue

import (
	"slices"
	"time"
)

// adopt adds the dead letters of another queue. They keep their ids, their counts and, in a standard queue, their age;
// in a FIFO queue retention starts again. If the queue was deleted in the meantime, the messages are lost.
func (q *Queue) adopt(dead []*item, source *Queue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, old := range dead {
		q.journal.moved(source.journal, old)
	}
	if q.deleted {
		q.journal.write()
		return
	}
	now := q.catchUp()
	for _, old := range dead {
		it := &item{
			message: old.message, sent: old.sent, count: old.count, past: old.past,
		}
		it.history().source = source.opts.ARN
		if q.opts.FIFO {
			it.sequence, it.sent = q.items.next, now
		}
		if it.sent < now {
			q.aged.push(it)
		}
		q.enter(it, 0, now)
	}
	q.changed()
}

// Moved is a message that is moved from one queue to another.
type Moved struct {
	it   *item
	from *Queue
}

// Source returns the ARN of the source queue of a dead letter; "": the message is no dead letter.
func (m Moved) Source() string { return m.it.seen().source }

// TakeOut removes up to n visible messages, in order, so that PutMoved can add them to another queue. If they cannot be
// read from the disk, it is an error, and they stay.
func (q *Queue) TakeOut(n int) ([]Moved, error) {
	var items []*item
	q.mu.Lock()
	q.catchUp()
	for len(items) < n {
		it := q.next()
		if it == nil {
			break
		}
		it.leave(q) // its journal forgets it together with its arrival in the other queue
		items = append(items, it)
	}
	q.changed()
	q.mu.Unlock()
	out := movedFrom(q, items)
	if err := q.journal.readItems(items); err != nil {
		q.PutBack(out...)
		return nil, err
	}
	return out, nil
}

func movedFrom(q *Queue, items []*item) []Moved {
	out := make([]Moved, len(items))
	for i, it := range items {
		out[i] = Moved{it, q}
	}
	return out
}

// next returns the message that a receive would take first.
func (q *Queue) next() *item {
	if q.opts.FIFO {
		if g := q.readyGroups.head; g != nil {
			return g.items.head
		}
		return nil
	}
	return q.ready.head()
}

// PutMoved adds messages that TakeOut removed from another queue. As on AWS, a moved message is new: its id, its age
// and its receive count start again.
func (q *Queue) PutMoved(moved ...Moved) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted {
		return ErrDeleted
	}
	now := q.catchUp()
	for _, m := range moved {
		q.admit(m, now)
	}
	q.changed()
	return nil
}

func (q *Queue) admit(m Moved, now time.Duration) {
	q.journal.moved(m.from.journal, m.it)
	fresh := *m.it.message
	fresh.ID = q.opts.Random.UUID()
	it := &item{message: &fresh, sent: now}
	if q.opts.FIFO {
		it.sequence = q.items.next
	}
	q.enter(it, 0, now)
}

// PutBack returns messages to the front of the queue that TakeOut removed them from.
func (q *Queue) PutBack(moved ...Moved) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	for _, m := range slices.Backward(moved) {
		q.restore(m.it)
	}
	q.changed()
}

// restore adds an item again under its old key, so that its handles remain valid.
func (q *Queue) restore(it *item) {
	q.items.restore(it.key, it)
	q.journal.hold(it)
	q.meter.fresh = min(q.meter.fresh, it.key)
	q.stir()
	q.aged.push(it)
	q.counts[it.state]++
	if it.group == nil {
		q.ready.putBack(it)
		q.wake()
		return
	}
	it.group = q.groupOf(it.group.name)
	it.group.items.pushFront(it)
	q.settle(it.group)
}
