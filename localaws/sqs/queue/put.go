package queue

import (
	"slices"
	"strconv"
	"time"
)

// Default means the queue's own delay or visibility timeout.
const Default time.Duration = -1

// Put is one message to add.
type Put struct {
	Message *Message
	Delay   time.Duration // Default: the queue's, the only one that a FIFO queue supports
}

// Accepted is the answer to the sender. For a duplicate it is the answer to the first message.
type Accepted struct {
	ID        string
	Sequence  string // of FIFO queues; otherwise ""
	Duplicate bool
}

// Put adds messages, in their order. Pollers wake after the last one, so that a batch is not received in small parts.
func (q *Queue) Put(puts ...Put) ([]Accepted, error) {
	out := make([]Accepted, len(puts))
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.deleted {
		return nil, ErrDeleted
	}
	now := q.catchUp()
	for i, p := range puts {
		out[i] = p.accept(q, now)
	}
	q.changed()
	return out, nil
}

func (p Put) accept(q *Queue, now time.Duration) Accepted {
	c := q.config.Load()
	it := &item{message: p.Message, sent: now}
	answer := Accepted{ID: p.Message.ID}
	if q.opts.FIFO {
		key := dedupKey{id: p.Message.Details().Dedup}
		if c.DedupByGroup {
			key.group = p.Message.Details().Group
		}
		if a := q.dedup.find(key, now); a != nil {
			q.meter.counts.Deduplicated++
			return Accepted{ID: a.message, Sequence: sequenceText(a.sequence), Duplicate: true}
		}
		known := accepted{key: key, at: now, message: p.Message.ID, sequence: q.items.next}
		q.dedup.add(known)
		q.journal.known(known)
		answer.Sequence = sequenceText(known.sequence)
	}
	delay := p.Delay
	if delay == Default {
		delay = c.Delay
	}
	if q.opts.Woken != nil {
		q.meter.count(p.Message)
	}
	it.enter(q, delay, now)
	return answer
}

// sequenceText formats a sequence number as AWS does: twenty digits, increasing, with gaps.
func sequenceText(n int64) string {
	if n == 0 {
		return ""
	}
	const first, step = 849496460467696128, 256
	return "18" + strconv.FormatInt(first+n*step, 10)
}

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
			it.sent = now
		}
		if it.sent < now {
			q.aged.push(it)
		}
		it.enter(q, 0, now)
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
		m.enter(q, now)
	}
	q.changed()
	return nil
}

func (m Moved) enter(q *Queue, now time.Duration) {
	q.journal.moved(m.from.journal, m.it)
	fresh := *m.it.message
	fresh.ID = q.opts.Random.UUID()
	it := &item{message: &fresh, sent: now}
	it.enter(q, 0, now)
}

// PutBack returns messages to the front of the queue that TakeOut removed them from.
func (q *Queue) PutBack(moved ...Moved) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	for _, m := range slices.Backward(moved) {
		m.it.restore(q)
	}
	q.changed()
}
