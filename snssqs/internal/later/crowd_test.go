package later

import (
	"testing"
	"testing/synctest"
	"time"
)

// A waker asks for the number of hidden messages at first, after some of its own, and soon again where the number is
// near its bound. While it asks, it does not ask twice.
func TestHiddenMessagesAreCounted(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		crowd *crowd
		asks  bool
	}{
		"at first":                  {&crowd{}, true},
		"a few later":               {&crowd{asked: now.Add(-time.Hour), told: 10, since: 99}, false},
		"many later":                {&crowd{asked: now, told: 10, since: 300}, true},
		"far from its bound":        {&crowd{asked: now.Add(-time.Hour), told: mostHidden / 2}, false},
		"near its bound":            {&crowd{asked: now.Add(-time.Minute), told: mostHidden/2 + 1}, true},
		"near its bound, a moment":  {&crowd{asked: now, told: mostHidden - 1}, false},
		"near its bound, some more": {&crowd{asked: now, told: mostHidden - 1, since: hidesAtLeast}, true},
		"beyond its bound":          {&crowd{asked: now, told: mostHidden + 50_000}, false},
		"while it is asked":         {&crowd{asking: true}, false},
	} {
		if asks := c.crowd.asks(now); asks != c.asks {
			t.Errorf("%s: asks %v, want %v", name, asks, c.asks)
		}
	}
}

// No more are hidden than the bound allows, and those of this waker count at once.
func TestHiddenMessagesAreBounded(t *testing.T) {
	c := crowd{asked: time.Now(), told: mostHidden - 25}
	for i, want := range []bool{true, true, false} {
		if takes, err := c.takes(t.Context(), nil, 10); takes != want || err != nil {
			t.Errorf("batch %d: %v, %v", i, takes, err)
		}
	}
	if takes, _ := c.takes(t.Context(), nil, 5); !takes {
		t.Error("there is no room for the last five")
	}
}

// Messages that are to be sent again are gathered, so that ten share a request. A few do not wait for long, nor if they
// are due soon, if nothing else comes, or if the service may hide no more.
func TestMessagesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stint{}
		gather := func(n int, due time.Duration, quiet bool, want, left int) {
			t.Helper()
			var items []item
			for range n {
				items = append(items, itemOf("m", time.Now().Add(due), 1, 1))
			}
			if out := s.gather(items, quiet); len(out) != want || len(s.gathered) != left || s.gathers() != (left > 0) {
				t.Errorf("%d are sent, and %d wait; want %d and %d", len(out), len(s.gathered), want, left)
			}
		}
		gather(3, time.Hour, false, 0, 3)
		gather(9, time.Hour, false, 10, 2)
		gather(2, 20*time.Second, false, 2, 2)
		time.Sleep(gathersFor)
		gather(1, time.Hour, false, 0, 3)
		time.Sleep(time.Second)
		gather(1, time.Hour, false, 4, 0)
		gather(4, time.Hour, false, 0, 4)
		gather(0, 0, true, 4, 0)
		s.crowd.told = packed
		gather(4, time.Hour, false, 4, 0)
	})
}
