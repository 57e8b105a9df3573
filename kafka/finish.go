package kafka

import (
	"sync"
	"sync/atomic"

	"github.com/godwitmq/godwit/driver"
)

// state is the receiver's lock. What the core has finished since it was last taken is taken in whenever it is taken, so that
// who finishes neither waits for a poll's admissions nor makes them wait.
type state struct {
	sync.Mutex
	r        *receiver
	finished atomic.Pointer[message] // the latest, and behind it those before
	awaited  atomic.Bool             // a poll waits that a finished message might end
}

// Lock takes the lock, and what was finished in.
func (s *state) Lock() {
	s.Mutex.Lock()
	s.settle()
}

// settle takes in what was finished, in the order in which it was. The caller holds the lock.
func (s *state) settle() {
	var first *message
	for m := s.finished.Swap(nil); m != nil; {
		m, m.next, first = m.next, first, m
	}
	for m := first; m != nil; {
		next := m.next
		m.next = nil
		s.r.done(m)
		if m.record == nil && !m.parked && !m.waits {
			s.r.used.put(m)
		}
		m = next
	}
}

// add notes a finished message, without the lock.
func (s *state) add(m *message) {
	if m.ended.Swap(true) {
		return
	}
	for {
		m.next = s.finished.Load()
		if s.finished.CompareAndSwap(m.next, m) {
			break
		}
	}
	if s.awaited.Load() { // set before the list was looked at: one of the two sees the other
		s.Lock()
		s.Unlock() //nolint:staticcheck // taking it has done what is to be done
	}
}

// await says whether a poll that waits might be ended by a finished message: something waits for a place, or for the rest of
// its key. The caller holds the lock.
func (s *state) await(some bool) {
	s.awaited.Store(some)
	if some {
		s.settle()
	}
}

// Finish is Settle of one that is done.
func (r *receiver) Finish(h driver.Handle) {
	if m := h.Ref.(*message); m.use == h.Seq {
		r.mu.add(m)
	}
}

// hungry says whether anything waits for a message to be finished. The caller holds r.mu.
func (r *receiver) hungry(m *member) bool {
	if len(r.lots) > 0 {
		return true
	}
	for _, e := range m.epochs {
		if len(e.backlog) > 0 {
			return true
		}
	}
	return false
}
