package engine

import (
	"hash/maphash"
	"slices"

	"github.com/godwitmq/godwit/driver"
)

// source is the state of one driver.Source: its lanes, and how many of its items are started and not yet settled, so
// that a revocation can wait for them. Guarded by the fleet's lock.
type source struct {
	last    map[uint64]*Item // the newest item of each lane, by the hash of its key
	started int              // items that are started, or being settled
	dead    bool             // it was revoked or lost
	over    bool             // quiet is closed
	quiet   chan struct{}    // closed when the source is dead and none of its items is started
}

func newSource() *source { return &source{last: map[uint64]*Item{}, quiet: make(chan struct{})} }

// laneOf is the lane of an order key. Two keys with the same hash share a lane, which is slower for them and still in
// order. It is never 0, which means no lane.
func laneOf(seed maphash.Seed, orderKey string) uint64 { return maphash.String(seed, orderKey) | 1 }

// join adds an item at the end of its lane.
func (s *source) join(it *Item) {
	if before := s.last[it.lane]; before != nil {
		before.laneNext, it.lanePrev = it, before
	}
	s.last[it.lane] = it
}

// leave removes an item from its lane.
func (s *source) leave(it *Item) {
	prev, next := it.lanePrev, it.laneNext
	switch {
	case prev != nil:
		prev.laneNext = next
		if next == nil {
			s.last[it.lane] = prev
		}
	case next == nil:
		delete(s.last, it.lane)
	}
	if next != nil {
		next.lanePrev = prev
	}
	it.lanePrev, it.laneNext = nil, nil
}

// ended counts a start as ended: the item was settled, or waits again.
func (s *source) ended() {
	s.started--
	s.hush()
}

// kill prevents items of the source from starting.
func (s *source) kill() {
	s.dead = true
	s.hush()
}

func (s *source) hush() {
	if s.dead && s.started == 0 && !s.over {
		s.over = true
		close(s.quiet)
	}
}

// sources returns the source of an item. Guarded by the fleet's lock.
type sources struct {
	by      map[*driver.Source]*source
	retired []*driver.Source // dead, and still in by, because an open poll may return items of them
}

func (s *sources) of(key *driver.Source) *source {
	src := s.by[key]
	if src == nil {
		src = newSource()
		s.by[key] = src
	}
	return src
}

// retire ends sources; a later item of the same partition belongs to another epoch. A source that is not known yet is
// retired, too, because its first items may be between the backend and the session.
func (s *sources) retire(keys []*driver.Source) []*source {
	dead := make([]*source, len(keys))
	for i, key := range keys {
		dead[i] = s.of(key)
		dead[i].kill()
	}
	s.retired = append(s.retired, keys...)
	return dead
}

// mark is called before a poll. When the items of the poll have been accepted, sweep removes the sources that were
// retired before the poll, but for those with items that are still started: their handlers have ignored the end of the
// source, and the ledger counts them.
func (s *sources) mark() int { return len(s.retired) }

func (s *sources) sweep(mark int) {
	mark = min(mark, len(s.retired))
	kept := slices.DeleteFunc(slices.Clone(s.retired[:mark]), func(key *driver.Source) bool {
		src := s.by[key]
		if src == nil || src.over {
			delete(s.by, key)
			return true
		}
		return false
	})
	s.retired = slices.Replace(s.retired, 0, mark, kept...)
}

// count returns how many items of all sources are started, and how many lanes there are.
func (s *sources) count() (started, lanes int) {
	for _, src := range s.by {
		started, lanes = started+src.started, lanes+len(src.last)
	}
	return started, lanes
}
