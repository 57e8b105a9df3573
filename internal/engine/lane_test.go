package engine

import (
	"hash/maphash"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// ofLane returns the items of a lane, from its head on.
func ofLane(first *Item) (ids string) {
	for it := first; it != nil; it = it.laneNext {
		ids += it.ID
	}
	return ids
}

// Lanes keep their order, whichever item leaves, and are removed when they are empty.
func TestALaneKeepsItsOrder(t *testing.T) {
	for _, c := range []struct{ leave, left string }{
		{"a", "bcd"}, {"b", "acd"}, {"d", "abc"}, {"ad", "bc"}, {"abc", "d"}, {"dcba", ""},
	} {
		s, by := newSource(), map[string]*Item{}
		for _, id := range []string{"a", "b", "c", "d"} {
			by[id] = &Item{ID: id, lane: 7}
			s.join(by[id])
			s.join(&Item{ID: "other " + id, lane: 9})
		}
		for _, r := range c.leave {
			s.leave(by[string(r)])
		}
		if c.left == "" {
			if s.last[7] != nil {
				t.Errorf("without %s the lane is still there", c.leave)
			}
			continue
		}
		if got := ofLane(by[c.left[:1]]); got != c.left || by[c.left[:1]].lanePrev != nil {
			t.Errorf("without %s: %s, want %s", c.leave, got, c.left)
		}
		late := &Item{ID: "e", lane: 7}
		s.join(late)
		if got := ofLane(by[c.left[:1]]); got != c.left+"e" {
			t.Errorf("without %s, and one more: %s", c.leave, got)
		}
	}
}

func TestNoLaneIsZero(t *testing.T) {
	seed := maphash.MakeSeed()
	for _, key := range []string{"", "a", "b"} {
		if laneOf(seed, key) == 0 {
			t.Errorf("the lane of %q is 0, which means none", key)
		}
	}
}

// A dead source is quiet when none of its items is started, and not before.
func TestARevocationWaitsForStartedItems(t *testing.T) {
	s := newSource()
	s.started = 2
	quiet := func() bool {
		select {
		case <-s.quiet:
			return true
		default:
			return false
		}
	}
	s.ended()
	s.kill()
	if quiet() {
		t.Error("quiet while one is started")
	}
	s.ended()
	s.kill()
	if !quiet() {
		t.Error("not quiet after the last one")
	}
}

// A source that was retired during a poll is kept until the items of that poll have been accepted.
func TestRetiredSourcesAreRemovedAfterThePoll(t *testing.T) {
	key := &driver.Source{Name: "p0"}
	s := sources{by: map[*driver.Source]*source{}}
	s.of(key).started = 1
	mark := s.mark() // of a poll that begins now
	dead := s.retire([]*driver.Source{key})[0]
	if got := s.of(key); got != dead || !got.dead {
		t.Error("an item of a retired source may start")
	}
	s.sweep(mark)
	if s.of(key) != dead {
		t.Error("removed after a poll that began before")
	}
	s.sweep(s.mark())
	if s.of(key) != dead {
		t.Error("removed while one of its items is started")
	}
	dead.ended()
	s.sweep(s.mark())
	if s.of(key) == dead {
		t.Error("not removed after a poll that began later")
	}
}
