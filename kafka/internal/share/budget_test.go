package share

import (
	"testing"
	"testing/synctest"
	"time"
)

// The records that wait for a handler are those that the handlers finish in aheadLasts, so many that the round trips do
// not matter, and few while the rate is unknown.
func TestBudgetFollowsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		if n, whole := b.ask(1); n != 10+3 || whole {
			t.Errorf("at the start %d records are requested, whole batches %v, want 13 and not", n, whole)
		}
		for _, c := range []struct {
			rate, ahead int // records a second, records that wait
			trip        time.Duration
			whole       bool
		}{
			{100, 12, 10 * time.Millisecond, false},
			{2000, 240, 10 * time.Millisecond, false},
			{2000, 600, 100 * time.Millisecond, true},
			{1_000_000, mostAhead, time.Millisecond, true},
		} {
			b = newBudget(10)
			b.took(0, 0)
			b.trip = c.trip
			time.Sleep(100 * time.Millisecond)
			b.took(c.rate/10, c.trip)
			b.settled(c.rate / 10)
			n, whole := b.ask(1)
			if b.ahead != c.ahead || n != min(10+c.ahead, mostAtOnce) || whole != c.whole {
				t.Errorf("at %d a second %d wait, and %d are requested, whole batches %v; want %d waiting",
					c.rate, b.ahead, n, whole, c.ahead)
			}
		}
	})
}

// A request is not made for a single record of many, and a session that waits is told when it may ask again.
func TestBudgetWaitsForVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		b.took(13, time.Millisecond)
		if n, _ := b.ask(1); n != 0 {
			t.Errorf("%d records are requested, and all places are taken", n)
		}
		if b.settled(1) {
			t.Error("one verdict is worth a request")
		}
		if !b.settled(1) || b.settled(1) {
			t.Error("the session is not told once")
		}
		if n, _ := b.ask(2); n != 2 {
			t.Errorf("one of two sessions requests %d of 3 records, want 2", n)
		}
	})
}
