package godwit

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/godwitmq/godwit/driver"
)

// source is what the core keeps for one driver.Source: its lanes, so that losing the source drops them at a stroke,
// and how many of its deliveries are started and not yet settled, so that a revocation can wait for them.
type source struct {
	mu   sync.Mutex
	last map[uint64]*Delivery // the newest delivery of each lane, by the hash of its key

	run   atomic.Int64  // started or being settled; and deadSource once it was revoked or lost
	ended atomic.Bool   // quiet is closed
	quiet chan struct{} // closed once it is dead and nothing of it runs
}

// deadSource is added to the number that run, so that both are looked at in one step.
const deadSource = 1 << 40

func newSource() *source {
	return &source{last: map[uint64]*Delivery{}, quiet: make(chan struct{})}
}

// laneOf is the lane of an order key. Two keys with one hash share a lane, which is slower for them and still in order.
// It is never 0, which means no lane.
func laneOf(seed maphash.Seed, orderKey string) uint64 { return maphash.String(seed, orderKey) | 1 }

// join puts d behind its lane and says whether it is the head, and so runnable. The caller holds s.mu.
func (s *source) join(d *Delivery) bool {
	if d.lane == 0 {
		return true
	}
	before := s.last[d.lane]
	s.last[d.lane] = d
	if before == nil {
		return true
	}
	before.laneNext = d
	return false
}

// leave takes the head d out of its lane and returns the next head, or nil.
func (s *source) leave(d *Delivery) *Delivery {
	if d.lane == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := d.laneNext
	d.laneNext = nil
	if next == nil && s.last[d.lane] == d {
		delete(s.last, d.lane)
	}
	return next
}

// behind is the delivery after d in its lane, or nil.
func (s *source) behind(d *Delivery) *Delivery {
	if d.lane == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.laneNext
}

// waiting is how many deliveries wait in a lane from d on, and their bytes.
func (s *source) waiting(d *Delivery) (n int, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; d != nil; d = d.laneNext {
		n, size = n+1, size+d.size
	}
	return n, size
}

// shelve marks the first n deliveries of a lane, from d on.
func (s *source) shelve(d *Delivery, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; n > 0; n, d = n-1, d.laneNext {
		d.shelved = true
	}
}

// unshelve takes the marks of a lane off again, from d on, and says how many there were.
func (s *source) unshelve(d *Delivery) (n int, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; d != nil && d.shelved; d = d.laneNext {
		n, size, d.shelved = n+1, size+d.size, false
	}
	return n, size
}

// onShelf says whether a delivery stands on the shelf.
func (s *source) onShelf(d *Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return d.shelved
}

// some says whether a delivery of a lane, from d on, is of a kind.
func (s *source) some(d *Delivery, kind func(*Delivery) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; d != nil; d = d.laneNext {
		if kind(d) {
			return true
		}
	}
	return false
}

// begin counts a start, unless the source is gone.
func (s *source) begin() bool {
	if s.run.Add(1) < deadSource {
		return true
	}
	s.end()
	return false
}

// end takes a start back: it was settled, or waits again.
func (s *source) end() { s.endAll(1) }

// endAll takes n starts back.
func (s *source) endAll(n int) {
	if s.run.Add(-int64(n)) == deadSource && !s.ended.Swap(true) {
		close(s.quiet)
	}
}

// gone says that the source was revoked or lost.
func (s *source) gone() bool { return s.run.Load() >= deadSource }

// kill lets nothing more of the source start.
func (s *source) kill() {
	for n := s.run.Load(); n < deadSource; n = s.run.Load() {
		if s.run.CompareAndSwap(n, n+1+deadSource) { // with a start of its own, whose end sees whether others run
			s.end()
			return
		}
	}
}

// sources finds the source of a delivery. Guarded by its own lock, taken once per run of deliveries of one source.
type sources struct {
	mu      sync.Mutex
	by      map[*driver.Source]*source
	retired []*driver.Source // dead, and still in by: a poll under way may bring deliveries of them
}

func (s *sources) of(key *driver.Source) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	src := s.by[key]
	if src == nil {
		src = newSource()
		s.by[key] = src
	}
	return src
}

// forget retires sources; a later delivery of the same partition belongs to another epoch. One that is not known yet is
// retired as well: its first deliveries may have left the backend and not arrived here.
func (s *sources) forget(keys []*driver.Source) []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := make([]*source, len(keys))
	for i, key := range keys {
		if gone[i] = s.by[key]; gone[i] == nil {
			gone[i] = newSource()
			s.by[key] = gone[i]
		}
	}
	s.retired = append(s.retired, keys...)
	return gone
}

// mark is to be taken before a poll; when what the poll brought has been accepted, sweep lets go of what was retired before
// it began.
func (s *sources) mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.retired)
}

func (s *sources) sweep(mark int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	mark = min(mark, len(s.retired))
	for _, key := range s.retired[:mark] {
		delete(s.by, key)
	}
	s.retired = slices.Delete(s.retired, 0, mark)
}
