package queue

import "time"

// adopt takes in the dead letters of another queue. They keep their ids, their
// counts and, in a standard queue, their age; a FIFO queue counts retention
// anew. A queue deleted meanwhile takes its messages with it.
func (q *Queue) adopt(dead []*item, source string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted {
		return
	}
	now := q.catchUp()
	for _, old := range dead {
		it := &item{
			message: old.message, source: source, sent: old.sent,
			count: old.count, first: old.first, receives: old.receives,
		}
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

// Moved is a message on its way from one queue to another.
type Moved struct{ it *item }

// Source is the queue the message is a dead letter of, by its ARN; "" where it
// is none.
func (m Moved) Source() string { return m.it.source }

// TakeOut removes up to n visible messages, in order, to be put elsewhere by
// PutMoved.
func (q *Queue) TakeOut(n int) []Moved {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	var out []Moved
	for len(out) < n {
		it := q.next()
		if it == nil {
			break
		}
		q.drop(it)
		out = append(out, Moved{it})
	}
	q.changed()
	return out
}

// next is the message a receive would get first.
func (q *Queue) next() *item {
	if q.opts.FIFO {
		if g := q.readyGroups.head; g != nil {
			return g.items.head
		}
		return nil
	}
	return q.ready.head()
}

// PutMoved takes in what TakeOut took out elsewhere. As on AWS, a moved message
// is a new one: its id, its age and its receive count begin anew.
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
	fresh := *m.it.message
	fresh.ID = q.opts.Random.UUID()
	it := &item{message: &fresh, sent: now}
	if q.opts.FIFO {
		it.sequence = q.items.next
	}
	q.enter(it, 0, now)
}

// PutBack returns to this queue, to its front, what TakeOut took out of it.
func (q *Queue) PutBack(moved ...Moved) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	for i := len(moved) - 1; i >= 0; i-- {
		q.restore(moved[i].it)
	}
	q.changed()
}

// restore files an item again as it was, under its old key: handles of it stay
// good.
func (q *Queue) restore(it *item) {
	q.items.restore(it.key, it)
	q.aged.push(it)
	q.counts[it.state]++
	if it.group == nil {
		it.place = q.ready.first - 1
		q.ready.restore(it.place, it)
		q.wake()
		return
	}
	it.group = q.groupOf(it.message.Group)
	it.group.items.pushFront(it)
	q.settle(it.group)
}
