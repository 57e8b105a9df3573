package queue

import (
	"cmp"
	"slices"
	"time"
)

// View is a message as seen by inspection, which does not receive it.
type View struct {
	*Message
	State    State
	Until    time.Time // when its delay or visibility timeout ends; zero: it is visible
	Sent     time.Time
	Count    int // all receives, also in earlier queues
	Sequence string
	Source   string    // ARN of the source queue of a dead letter
	Handle   string    // of the latest receive in this queue; "": none
	Receives []Receipt // the latest receives, oldest first
}

// Receipt is one receive in a message's history.
type Receipt struct {
	At time.Time
	By string
}

// Lock is a FIFO group with messages in flight, so that no further message of it is received.
type Lock struct {
	Group    string
	InFlight int
	Behind   int // messages that wait behind those in flight
}

// Known is an entry of a FIFO queue's deduplication table.
type Known struct {
	Group     string // "": the scope is the whole queue
	Dedup     string
	MessageID string
	Until     time.Time
}

// Stats returns the current counts.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
	return q.stats()
}

// stats is the same as Stats; the caller holds the lock.
func (q *Queue) stats() Stats {
	s := Stats{Visible: q.counts[Visible], Delayed: q.counts[Delayed], InFlight: q.counts[InFlight]}
	for w := q.waiters.head; w != nil; w = w.link.next {
		s.Waiters++
	}
	oldest := q.items.head()
	if a := q.aged.top(); a != nil && (oldest == nil || a.sent < oldest.sent) {
		oldest = a
	}
	if oldest != nil {
		s.Oldest = q.now() - oldest.sent
	}
	return s
}

// Messages lists every message in order of arrival.
func (q *Queue) Messages() []View {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
	views := make([]View, 0, q.items.n)
	for it := range q.items.all {
		views = append(views, q.view(it))
	}
	return views
}

// MessagesAfter lists up to limit messages in order of arrival, behind the one that the number last of the previous
// call stands for; 0: from the first on. last is 0 if there are no more.
func (q *Queue) MessagesAfter(after int64, limit int) (views []View, last int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
	if q.items.head() == nil {
		return nil, 0
	}
	for number := max(q.items.first, after+1); number < q.items.next; number++ {
		it := q.items.at(number)
		switch {
		case it == nil:
			continue
		case len(views) == limit:
			return views, last
		}
		views, last = append(views, q.view(it)), number
	}
	return views, 0
}

func (q *Queue) view(it *item) View {
	at := q.opts.Clock.At
	v := View{
		Message: it.message, State: it.state, Sent: at(it.sent), Count: int(it.count),
		Sequence: sequenceText(it.sequence), Source: it.source,
	}
	if it.state != Visible {
		v.Until = at(it.due)
	}
	if it.turn > 0 {
		v.Handle = q.handle(it)
	}
	for _, r := range it.receives {
		v.Receives = append(v.Receives, Receipt{At: at(r.at), By: r.by})
	}
	return v
}

// Locks lists the locked groups of a FIFO queue by name.
func (q *Queue) Locks() []Lock {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
	var locks []Lock
	for _, g := range q.groups {
		if g.items.head.state != InFlight {
			continue
		}
		l := Lock{Group: g.name, InFlight: g.inFlight}
		for it := g.items.head; it != nil; it = it.order.next {
			if it.state != InFlight {
				l.Behind++
			}
		}
		locks = append(locks, l)
	}
	slices.SortFunc(locks, func(a, b Lock) int { return cmp.Compare(a.Group, b.Group) })
	return locks
}

// Dedup lists a FIFO queue's deduplication table, oldest first.
func (q *Queue) Dedup() []Known {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dedup.forget(q.now())
	var known []Known
	for _, a := range q.dedup.entries[q.dedup.gone:] {
		known = append(known, Known{
			Group: a.key.group, Dedup: a.key.id, MessageID: a.message,
			Until: q.opts.Clock.At(a.at + DedupWindow),
		})
	}
	return known
}
