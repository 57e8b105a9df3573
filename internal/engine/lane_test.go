package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
			by[id] = &Item{use: use{ID: id, lane: 7}}
			s.join(by[id])
			s.join(&Item{use: use{ID: "other " + id, lane: 9}})
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
		late := &Item{use: use{ID: "e", lane: 7}}
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
	s.started--
	s.kill()
	if quiet() {
		t.Error("quiet while one is started")
	}
	s.started--
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
	dead.started--
	dead.check()
	s.sweep(s.mark())
	if s.of(key) == dead {
		t.Error("not removed after a poll that began later")
	}
}

// partition returns a running item, one that can start and a held retry of a partition, and what reports its end.
func partition(t *testing.T) (s *Session, service *fakeService, own ownership, key *driver.Source, its [3]*Item) {
	t.Helper()
	lim := driver.ReceiveLimits{SettleBatch: 10, Keeps: true}
	s, service = bareSession(t, lim, &Config{ProcessingTimeout: time.Hour})
	key = &driver.Source{Name: "p0"}
	its[2] = kind{lane: 9, of: key}.ready(s)
	st := starts(s)
	s.flow.held.hold(its[2], time.Minute, 1)
	s.flow.lock()
	s.flow.stints.returned(st, s.flow.clock.now())
	s.flow.stints.free(st)
	s.flow.unlock()
	its[0] = kind{lane: 7, of: key}.ready(s)
	starts(s)
	its[1] = kind{lane: 8, of: key}.ready(s)
	return s, service, ownership{s.flow, s.obs}, key, its
}

// A revocation waits for the handlers, and cancels them in time. Held retries are gone at once, and nothing starts.
func TestARevocation(t *testing.T) {
	for name, c := range map[string]struct {
		returns time.Duration // when the handler returns, unless it is canceled; 0: it ignores that
		took    time.Duration
		cause   error
	}{
		"handlers return":                                 {3 * time.Second, 3 * time.Second, nil},
		"handlers are canceled":                           {20 * time.Second, 8 * time.Second, ErrRevoked},
		"handlers ignore their context":                   {0, 10 * time.Second, ErrRevoked},
		"handlers that have settled ignore their context": {0, 8 * time.Second, ErrRevoked},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service, own, key, its := partition(t)
			st := its[0].stint
			settled := strings.Contains(name, "settled")
			if settled {
				s.cfg.Choice = func(*Item) *Verdict { return &Verdict{} }
			}
			go func() {
				if c.returns == 0 {
					return
				}
				select {
				case <-time.After(c.returns):
				case <-st.ctx.Done():
				}
				ends(s, st, Verdict{Action: ActionRelease})
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			own.revoked(ctx, []*driver.Source{key})
			if took := time.Since(begun); took != c.took || !errors.Is(context.Cause(st.ctx), c.cause) {
				t.Errorf("%s: it took %v, and the handler's cause is %v", name, took, context.Cause(st.ctx))
			}
			starts(s)
			if its[1].state != gone || its[2].state != gone || s.flow.count.LeaseLost > 0 {
				t.Errorf("%s: the one that could start is %v, the held retry %v", name, its[1].state, its[2].state)
			}
			s.flow.settler.Close(t.Context())
			if done := len(service.batches) > 0 && service.batches[0][0].Action == driver.Done; done != settled {
				t.Errorf("%s: the settlements are %v", name, service.batches)
			}
		})
	}
}

// A lost partition cancels its handlers at once, and nothing of it is settled. Another partition is not affected.
func TestALostPartition(t *testing.T) {
	s, service, own, key, its := partition(t)
	st := its[0].stint
	other := kind{lane: 9}.ready(s)
	s.flow.stints.begin(other, &stint{worker: st.worker}, s.flow.clock.now())
	own.lost([]*driver.Source{key}, errors.New("fenced"))
	if cause := context.Cause(st.ctx); !errors.Is(cause, ErrLeaseLost) || its[0].state != lost || its[2].state != gone {
		t.Errorf("the handler's cause is %v, its item is %v, the held retry %v", cause, its[0].state, its[2].state)
	}
	ends(s, st, Verdict{})
	s.flow.settler.Close(t.Context())
	if n := len(service.batches); n > 0 || its[0].state != gone || other.state != running {
		t.Errorf("%d settlements; the item is %v, that of the other partition %v", n, its[0].state, other.state)
	}
}

// Discarded messages are counted by their reason.
func TestDiscardedMessages(t *testing.T) {
	s, _, own, _, _ := partition(t)
	own.discarded(driver.Discarded{Reason: driver.DiscardFiltered, Count: 3})
	own.discarded(driver.Discarded{Reason: driver.DiscardFinished, Count: 4})
	if c := s.Counts(); c.Filtered != 3 || c.Redelivered != 4 {
		t.Errorf("%d filtered, %d handled before", c.Filtered, c.Redelivered)
	}
}
