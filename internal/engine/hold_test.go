package engine

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The service counts receives; the start log knows the real starts.
func TestStartsAreRemembered(t *testing.T) {
	l := newStartLog()
	for _, c := range []struct {
		name               string
		in                 driver.Delivery
		attempt, failures  int
		noteStarts, failed int // when it is released; -1: it is not
	}{
		{"the first time", driver.Delivery{ID: "a", Received: 1}, 1, 0, 0, 0},
		{"it went back untouched", driver.Delivery{ID: "a", Received: 2}, 1, 0, 1, 1},
		{"it was started and failed", driver.Delivery{ID: "a", Received: 3}, 2, 1, -1, 0},
		{"nothing is known: receives bound the starts", driver.Delivery{ID: "b", Received: 5}, 5, 0, -1, 0},
		{"the backend knows it", driver.Delivery{ID: "a", Received: 9, Attempt: 1}, 2, 1, -1, 0},
		{"a service that counts nothing", driver.Delivery{ID: "c"}, 1, 0, -1, 0},
	} {
		attempt, failures := l.attempt(&c.in)
		if attempt != c.attempt || failures != c.failures {
			t.Errorf("%s: attempt %d with %d failures, want %d and %d", c.name, attempt, failures, c.attempt,
				c.failures)
		}
		if c.noteStarts >= 0 {
			l.note(&Item{use: use{ID: c.in.ID, received: c.in.Received, Failures: c.failed}}, c.noteStarts)
		}
	}
}

// The start log is bounded, and the oldest records are removed first.
func TestTheStartLogIsBounded(t *testing.T) {
	l := newStartLog()
	for i := range startLogSize + 10 {
		l.note(&Item{use: use{ID: fmt.Sprint(i), received: 1}}, 0)
	}
	if _, known := l.by["9"]; known || len(l.by) != startLogSize {
		t.Errorf("%d records, and the oldest is there: %v", len(l.by), known)
	}
	if _, known := l.by["10"]; !known {
		t.Error("a record too many was removed")
	}
}

// An item whose handler could not begin is held in its place if the shelf is full and the service would dead-letter it
// soon. Otherwise the service keeps it.
func TestHoldingUntouchedItems(t *testing.T) {
	for received, want := range map[int32]string{1: "retry a 1s", 90: ""} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{
				RetryMax: time.Hour, HoldBelow: time.Minute, MaxReceives: 100, SettleBatch: 10,
			}, &Config{})
			it := arriveAll(s, "a")[0]
			it.received, it.Attempt = received, 1
			st := starts(s)
			it.Grow(it.gen, s.fleet.bytes.limit) // too much for the shelf
			ends(s, st, Verdict{Action: ActionHold, After: time.Second})
			if it.held&hasShelf != 0 || (it.state == shelved) != (want == "") {
				t.Errorf("received %d times: %v, on the shelf: %v", received, it.state, it.held&hasShelf != 0)
			}
			if got := settled(s, service); got != want {
				t.Errorf("received %d times: settled %q, want %q", received, got, want)
			}
		})
	}
}

// Held retries are returned in the order of their times, and each can be removed.
func TestRetriesComeWhenTheyAreDue(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	var held retries
	var all []*Item
	for range 500 {
		it := &Item{use: use{until: moment(r.IntN(1000))}}
		heap.Push(&held, it)
		all = append(all, it)
	}
	for _, it := range all[:200] {
		heap.Remove(&held, it.heapAt)
	}
	last, n := moment(-1), 0
	for it := held.due(never); it != nil; it = held.due(never) {
		if it.until < last || it.until != held.first() || held.due(it.until-1) != nil {
			t.Fatalf("seed %d: %d after %d", seed, it.until, last)
		}
		last = it.until
		heap.Remove(&held, it.heapAt)
		n++
	}
	if n != 300 || held.first() != never {
		t.Errorf("seed %d: %d of 300 were returned", seed, n)
	}
}

// A retry on the shelf is not counted among those that take places.
func TestRetriesInPlaces(t *testing.T) {
	held := retries{
		{use: use{held: hasPlace | hasTimer}},
		{use: use{held: hasShelf | hasTimer}},
		{use: use{held: hasPlace | hasTimer}},
	}
	if n := held.inPlaces(); n != 2 {
		t.Errorf("%d of 3 retries have a place, want 2", n)
	}
}
