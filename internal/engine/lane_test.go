package engine

import (
	"hash/maphash"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// ofLane is what stands in a lane, from its head on.
func ofLane(first *Item) (ids string) {
	for it := first; it != nil; it = it.laneNext {
		ids += it.ID
	}
	return ids
}

// Lanes keep their order, whoever leaves, and are forgotten when they are empty.
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

// A dead source is quiet once nothing of it is started, and not before.
func TestARevocationWaitsForWhatIsStarted(t *testing.T) {
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

// A source that was retired while a poll was under way is known until what that poll brought has been accepted.
func TestRetiredSourcesAreForgottenAfterThePoll(t *testing.T) {
	key := &driver.Source{Name: "p0"}
	s := sources{by: map[*driver.Source]*source{}}
	mark := s.mark() // of a poll that begins now
	dead := s.retire([]*driver.Source{key})[0]
	if got := s.of(key); got != dead || !got.dead {
		t.Error("what the poll brings of a retired source may start")
	}
	s.sweep(mark)
	if s.of(key) != dead {
		t.Error("forgotten by a poll that began before")
	}
	s.sweep(s.mark())
	if s.of(key) == dead {
		t.Error("not forgotten after a poll that began later")
	}
}
