package godwit

import "sync"

// bus holds the runnable deliveries of all sessions that share one pool of workers: one queue each, from which workers
// take in turn, so that a flooded channel cannot starve a quiet one. It has no length of its own: the sessions' places
// bound it, and so a push never blocks (workers push the next heads of lanes; if that could block, all would).
type bus struct {
	mu       sync.Mutex
	some     sync.Cond
	sessions []*session
	turn     int // whose turn it is in sessions
	n        int // deliveries on all queues
	idle     int // workers waiting
	closed   bool
}

// queue is a session's part of the bus; guarded by bus.mu.
type queue struct {
	head, tail *Delivery
	shut       bool // the session stops: nothing more is runnable
}

func newBus() *bus {
	b := &bus{}
	b.some.L = &b.mu
	return b
}

// push makes a chain of n deliveries, linked by busNext from first to last, runnable. It says no when the session
// has been shut: then the caller gives them back.
func (b *bus) push(s *session, first, last *Delivery, n int) bool {
	b.mu.Lock()
	if s.queue.shut {
		b.mu.Unlock()
		return false
	}
	if s.queue.tail == nil {
		s.queue.head = first
	} else {
		s.queue.tail.busNext = first
	}
	s.queue.tail = last
	b.n += n
	wake := min(n, b.idle)
	b.mu.Unlock()
	for range wake {
		b.some.Signal()
	}
	return true
}

// pop waits for a runnable delivery; nil once the bus is closed, or stop says so. stop may be nil; it is called with the
// bus's lock held, and whoever makes it say something else calls wakeAll.
func (b *bus) pop(stop func() bool) *Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	for stopped := stop != nil && stop(); stopped || b.n == 0; stopped = stop != nil && stop() {
		if stopped || b.closed {
			return nil
		}
		b.idle++
		b.some.Wait()
		b.idle--
	}
	for {
		s := b.sessions[b.turn]
		b.turn = (b.turn + 1) % len(b.sessions)
		if d := s.queue.head; d != nil {
			b.take(s)
			return d
		}
	}
}

// take removes the head of a session's queue. The caller holds b.mu.
func (b *bus) take(s *session) *Delivery {
	d := s.queue.head
	s.queue.head = d.busNext
	if s.queue.head == nil {
		s.queue.tail = nil
	}
	d.busNext = nil
	b.n--
	return d
}

// shut ends a session's part: it takes nothing more, and what waits is returned, oldest first.
func (b *bus) shut(s *session) []*Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.queue.shut = true
	var heads []*Delivery
	for s.queue.head != nil {
		heads = append(heads, b.take(s))
	}
	return heads
}

// close lets the workers go home.
func (b *bus) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.some.Broadcast()
}

// wakeAll makes every waiting pop look at its context again.
func (b *bus) wakeAll() {
	b.mu.Lock()
	b.mu.Unlock() //nolint:staticcheck // the empty section orders this after a pop that has looked and not yet waits
	b.some.Broadcast()
}

// waiting says whether something of a session is runnable.
func (b *bus) waiting(s *session) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.queue.head != nil
}
