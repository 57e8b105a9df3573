package queue

import (
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
		out[i] = q.accept(p, now)
	}
	q.changed()
	return out, nil
}

func (q *Queue) accept(p Put, now time.Duration) Accepted {
	c := q.config.Load()
	it := &item{message: p.Message, sent: now}
	answer := Accepted{ID: p.Message.ID}
	if q.opts.FIFO {
		key := dedupKey{id: p.Message.Dedup}
		if c.DedupByGroup {
			key.group = p.Message.Group
		}
		if a := q.dedup.find(key, now); a != nil {
			q.meter.counts.Deduplicated++
			return Accepted{ID: a.message, Sequence: sequenceText(a.sequence), Duplicate: true}
		}
		it.sequence = q.items.next
		known := accepted{key: key, at: now, message: p.Message.ID, sequence: it.sequence}
		q.dedup.add(known)
		q.journal.known(known)
		answer.Sequence = sequenceText(it.sequence)
	}
	delay := p.Delay
	if delay == Default {
		delay = c.Delay
	}
	if q.opts.Woken != nil {
		q.meter.count(p.Message)
	}
	q.enter(it, delay, now)
	return answer
}

// enter gives an item its key, and adds it to the ready or the delayed items.
func (q *Queue) enter(it *item, delay, now time.Duration) {
	it.entered = now
	it.key = q.items.push(it)
	q.stir()
	q.counts[it.state]++
	if q.opts.FIFO {
		it.group = q.groupOf(it.message.Group)
		it.group.items.pushBack(it)
	}
	if delay > 0 {
		q.hold(it, Delayed, now+delay)
	} else {
		q.makeReady(it)
	}
	q.journal.message(it)
	q.journal.hold(it)
}

// sequenceText formats a sequence number as AWS does: twenty digits, increasing, with gaps.
func sequenceText(n int64) string {
	if n == 0 {
		return ""
	}
	const first, step = 849496460467696128, 256
	return "18" + strconv.FormatInt(first+n*step, 10)
}
