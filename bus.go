package godwit

import (
	"slices"
	"sync"
	"time"
)

// bus holds the runnable deliveries of all sessions that share one pool of workers: one queue each, from which workers
// take in turn, so that a flooded channel cannot starve a quiet one. It has no length of its own: the sessions' places
// bound it, and so a push never blocks (workers push the next heads of lanes; if that could block, all would).
type bus struct {
	mu       sync.Mutex
	some     sync.Cond
	sessions []*session
	turn     int // whose turn it is in sessions
	left     int // how often it may still be taken from before the turn goes on
	n        int // deliveries on all queues
	idle     int // workers waiting
	closed   bool
}

// queue is a session's part of the bus; guarded by bus.mu, but for the fields that do not change.
type queue struct {
	weight   int  // deliveries taken in one turn; never changes
	priority int  // higher goes first; never changes
	alone    bool // no other session shares the workers, who are its limit; never changes

	limit      int // handlers at once, unless alone
	head, tail *Delivery
	active     int  // taken and not yet vacated, unless alone
	parked     bool // the session is paused or stops: nothing more is taken in
	frozen     bool // the session is held back, and keeps what it has
	granted    bool // of which one may run all the same
	batches    bool // deliveries are handled in batches; never changes
	gathering  bool // a worker is filling one: nobody else takes anything
}

func newBus() *bus {
	b := &bus{}
	b.some.L = &b.mu
	return b
}

func (b *bus) join(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = append(b.sessions, s)
}

// push makes a chain of n deliveries, linked by busNext from first to last, runnable. It says no when the session
// has been shut: then the caller gives them back.
func (b *bus) push(s *session, first, last *Delivery, n int) bool {
	b.mu.Lock()
	if s.queue.parked {
		b.mu.Unlock()
		return false
	}
	b.append(s, first, last, n)
	wake, gathering := min(n, b.idle), s.queue.gathering
	b.mu.Unlock()
	if gathering { // the one who gathers is among those who wait
		b.some.Broadcast()
		return true
	}
	for range wake {
		b.some.Signal()
	}
	return true
}

// append puts a chain at the end of a session's queue. The caller holds b.mu.
func (b *bus) append(s *session, first, last *Delivery, n int) {
	if s.queue.tail == nil {
		s.queue.head = first
	} else {
		s.queue.tail.busNext = first
	}
	s.queue.tail = last
	b.n += n
}

// pop waits for a delivery whose turn it is; nil once the bus is closed, or stop says so. stop may be nil; it is called
// with the bus's lock held, and whoever makes it say something else calls wakeAll.
func (b *bus) pop(stop func() bool) *Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	for stop == nil || !stop() {
		if s := b.next(); s != nil {
			return b.take(s)
		}
		if b.closed {
			return nil
		}
		b.idle++
		b.some.Wait()
		b.idle--
	}
	return nil
}

// runnable says whether there is something to run. The caller holds bus.mu.
func (q *queue) runnable() bool { return q.head != nil && (!q.frozen || q.granted) }

// next is the session to take from: of the highest priority that has something runnable and a handler to spare, in
// turn. The caller holds b.mu.
func (b *bus) next() *session {
	if b.n == 0 {
		return nil
	}
	best := -1
	for i := range b.sessions {
		at := (b.turn + i) % len(b.sessions)
		q := &b.sessions[at].queue
		if !q.runnable() || q.gathering || !q.alone && q.active >= q.limit {
			continue
		}
		if best < 0 || q.priority > b.sessions[best].queue.priority {
			best = at
		}
	}
	if best < 0 {
		return nil
	}
	s := b.sessions[best]
	if best != b.turn || b.left <= 0 {
		b.turn, b.left = best, s.queue.weight
	}
	if b.left--; b.left <= 0 {
		b.turn = (b.turn + 1) % len(b.sessions)
	}
	return s
}

// take removes the head of a session's queue for a handler. The caller holds b.mu.
func (b *bus) take(s *session) *Delivery {
	d := b.remove(s)
	if !s.queue.alone {
		s.queue.active++
		d.counted = true
	}
	s.queue.gathering = s.queue.batches
	s.queue.granted = false
	return d
}

// remove removes the head of a session's queue. The caller holds b.mu.
func (b *bus) remove(s *session) *Delivery {
	d := s.queue.head
	s.queue.head = d.busNext
	if s.queue.head == nil {
		s.queue.tail = nil
	}
	d.busNext = nil
	b.n--
	return d
}

// more waits for another delivery of a batch that a worker gathers, until a time; nil: go with what there is.
func (b *bus) more(s *session, until time.Time) *Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case s.queue.parked || s.queue.frozen:
			return nil
		case s.queue.head != nil:
			return b.remove(s)
		case !time.Now().Before(until):
			return nil
		}
		b.some.Wait()
	}
}

// gathered lets other workers take from a session again.
func (b *bus) gathered(s *session) {
	b.mu.Lock()
	s.queue.gathering = false
	wake := s.queue.head != nil
	b.mu.Unlock()
	if wake {
		b.some.Signal()
	}
}

// vacate says that a delivery's handler takes up no worker any more, so that another of its session may run.
func (b *bus) vacate(d *Delivery) {
	q := &d.in.queue
	if q.alone {
		return
	}
	b.mu.Lock()
	wake := d.counted && q.active <= q.limit && q.head != nil
	if d.counted {
		d.counted = false
		q.active--
	}
	b.mu.Unlock()
	if wake {
		b.some.Signal()
	}
}

// cap changes a session's limit.
func (b *bus) cap(s *session, limit int) {
	b.mu.Lock()
	s.queue.limit = limit
	b.mu.Unlock()
	b.some.Broadcast()
}

// park makes nothing of a session runnable until unpark; what waits is returned, oldest first.
func (b *bus) park(s *session) []*Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.queue.parked, s.queue.granted = true, false
	var heads []*Delivery
	for s.queue.head != nil {
		heads = append(heads, b.remove(s))
	}
	b.some.Broadcast() // whoever gathers a batch goes with what there is
	return heads
}

// freeze lets nothing of a session run until unpark, and keeps it.
func (b *bus) freeze(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.queue.frozen, s.queue.granted = true, false
	b.some.Broadcast()
}

// surplus takes the newest of what waits, beyond so many.
func (b *bus) surplus(s *session, keep int) (heads []*Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []*Delivery
	for s.queue.head != nil {
		if d := b.remove(s); len(kept) < keep {
			kept = append(kept, d)
		} else {
			heads = append(heads, d)
		}
	}
	for _, d := range kept {
		b.append(s, d, d, 1)
	}
	return heads
}

// waitingUpTo says whether fewer than so many wait.
func (b *bus) waitingUpTo(s *session, most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for d := s.queue.head; d != nil && n < most; d = d.busNext {
		n++
	}
	return n < most
}

// grant lets one delivery of a session that is held back run, and says whether it is here already.
func (b *bus) grant(s *session) bool {
	b.mu.Lock()
	here := s.queue.head != nil
	if slices.Contains(b.sessions, s) {
		s.queue.parked, s.queue.frozen, s.queue.granted = false, true, true
	}
	b.mu.Unlock()
	b.some.Broadcast()
	return here
}

// unpark takes a park or freeze back, unless the session has left.
func (b *bus) unpark(s *session) {
	b.mu.Lock()
	if slices.Contains(b.sessions, s) {
		s.queue.parked, s.queue.frozen, s.queue.granted = false, false, false
	}
	b.mu.Unlock()
	b.some.Broadcast()
}

// leave ends a session's part for good, and returns what waits.
func (b *bus) leave(s *session) []*Delivery {
	b.mu.Lock()
	b.sessions = slices.DeleteFunc(b.sessions, func(other *session) bool { return other == s })
	b.turn, b.left = 0, 0
	b.mu.Unlock()
	return b.park(s)
}

// close lets the workers go home.
func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.some.Broadcast()
}

// over says whether the workers may go home.
func (b *bus) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// wakeAll makes every waiting pop ask its stop again.
func (b *bus) wakeAll() {
	b.mu.Lock()
	b.mu.Unlock() //nolint:staticcheck // the empty section orders this after a pop that has asked and not yet waits
	b.some.Broadcast()
}

// oldest says whether something of a session is runnable, and when the first of it was due, unless it is a retry.
func (b *bus) oldest(s *session) (waiting bool, due time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.queue.runnable() {
		return false, time.Time{}
	}
	if d := s.queue.head; d.Attempt == 1 && !d.SentAt.IsZero() {
		due = d.SentAt.Add(d.delay)
	}
	return true, due
}

// waiting says whether something of a session is runnable.
func (b *bus) waiting(s *session) bool {
	some, _ := b.oldest(s)
	return some
}
