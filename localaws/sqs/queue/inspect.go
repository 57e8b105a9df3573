package queue

import (
	"cmp"
	"math"
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

// Stats are the counts of a queue.
type Stats struct {
	Visible, Delayed, InFlight int
	Waiters                    int           // polls that wait
	Oldest                     time.Duration // age of the oldest message; 0: there is none
}

// Total returns the number of messages.
func (s Stats) Total() int { return s.Visible + s.Delayed + s.InFlight }

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
	if it := q.oldest(); it != nil {
		s.Oldest = q.opts.Clock.Elapsed() - it.sent
	}
	return s
}

// Messages lists every message in order of arrival. Messages that cannot be read from the disk are left out.
func (q *Queue) Messages() []View {
	views, _, _ := q.MessagesAfter(0, math.MaxInt)
	return views
}

// MessagesAfter lists up to limit messages in order of arrival, behind the one that the number last of the previous
// call stands for; 0: from the first on. last is 0 if there are no more. The error says that messages cannot be read
// from the disk, which are then left out.
func (q *Queue) MessagesAfter(after int64, limit int) (views []View, last int64, err error) {
	var keys []int64
	more := false
	q.mu.Lock()
	q.catchUp()
	q.changed()
	for number := max(q.items.first, after+1); number < q.items.next && q.items.head() != nil; number++ {
		it := q.items.at(number)
		if it == nil {
			continue
		}
		if more = len(views) == limit; more {
			break
		}
		views, keys, last = append(views, it.view(q)), append(keys, number), number
	}
	q.mu.Unlock()
	if !more {
		last = 0
	}
	var all []absent
	for i := range views {
		if views[i].Message == nil {
			all = append(all, absent{keys[i], &views[i].Message})
		}
	}
	if len(all) > 0 {
		err = q.journal.read(all)
		views = slices.DeleteFunc(views, func(v View) bool { return v.Message == nil })
	}
	return views, last, err
}

func (it *item) view(q *Queue) View {
	at := q.opts.Clock.At
	v := View{
		Message: it.message, State: it.state, Sent: at(it.sent), Count: int(it.count),
		Sequence: sequenceText(it.sequence()), Source: it.seen().source,
	}
	if it.state != Visible {
		v.Until = at(it.due)
	}
	if it.turn > 0 {
		v.Handle = q.stamp.handle(it)
	}
	for _, r := range it.seen().receives {
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
	q.dedup.forget(q.opts.Clock.Elapsed())
	var known []Known
	for _, a := range q.dedup.entries[q.dedup.gone:] {
		known = append(known, Known{
			Group: a.key.group, Dedup: a.key.id, MessageID: a.message,
			Until: q.opts.Clock.At(a.at + DedupWindow),
		})
	}
	return known
}

// Touch says that there was a call for this queue, of any kind and with any outcome. A queue without calls and messages
// sleeps; Options.Woken is called when it wakes.
func (q *Queue) Touch() {
	q.meter.called.Store(int64(q.opts.Clock.Elapsed()))
	q.meter.stir(q)
}

// Collect returns the counts, and starts again. If the queue has no messages and there was no call for the time idle,
// or if the queue is deleted, it sleeps from now on, and awake is false.
func (q *Queue) Collect(idle time.Duration) (c Counts, awake bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.catchUp()
	c, q.meter.counts = q.meter.counts, Counts{}
	c.EmptyReceives = int(q.meter.empty.Swap(0))
	c.Visible, c.InFlight, c.Delayed = q.counts[Visible], q.counts[InFlight], q.counts[Delayed]
	c.Groups, c.Age = q.locked, -1
	if it := q.meter.oldest(&q.contents); it != nil {
		c.Age = now - it.entered
	}
	q.changed()
	active := func() bool {
		return !q.deleted && (q.items.n > 0 || now-time.Duration(q.meter.called.Load()) < idle)
	}
	if active() {
		return c, true
	}
	q.meter.awake.Store(false)
	// A call that came meanwhile has seen an awake queue, and waked nobody.
	return c, active() && q.meter.awake.CompareAndSwap(false, true)
}
