package clock_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/clock"
)

func TestAdvanceFiresInOrderOfDueTimeAndShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		defer c.Close()
		start := c.Now()
		var got []time.Duration
		mark := func() { got = append(got, c.Now().Sub(start)) }
		c.AfterFunc(3*time.Second, mark)
		c.AfterFunc(time.Second, func() {
			mark()
			c.AfterFunc(time.Second, mark) // due at two seconds: before the first
		})
		c.AfterFunc(time.Hour, mark)
		c.Advance(10 * time.Second)
		want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fired at (-want +got):\n%s", diff)
		}
		if moved := c.Now().Sub(start); moved != 10*time.Second {
			t.Errorf("clock moved by %v, want 10s", moved)
		}
	})
}

func TestAfterFuncFiresByItselfAndAfterAnAdvanceSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		defer c.Close()
		fired := make(chan time.Time, 1)
		began := time.Now()
		c.AfterFunc(time.Minute, func() { fired <- time.Now() })
		c.Advance(50 * time.Second)
		if waited := (<-fired).Sub(began); waited != 10*time.Second {
			t.Errorf("fired after %v of real time, want the remaining 10s", waited)
		}
	})
}

func TestStopAndCloseKeepFromFiring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		stop := c.AfterFunc(time.Second, func() { t.Error("a stopped function ran") })
		stop()
		stop()
		c.AfterFunc(time.Second, func() { t.Error("a function ran after Close") })
		c.Close()
		c.AfterFunc(0, func() { t.Error("a closed clock ran a function") })
		time.Sleep(time.Minute)
		c.Advance(time.Minute)
	})
}

// The clock does not turn back, however often and far it is advanced.
func TestAdvanceHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New()
		defer c.Close()
		start := c.Now()
		for range 3 {
			before := c.Now()
			c.Advance(math.MaxInt64)
			if c.Now().Before(before) {
				t.Fatalf("the clock has turned back from %v to %v", before, c.Now())
			}
		}
		if got := c.Now().Sub(start); got != clock.Furthest {
			t.Errorf("the clock is %v ahead, want %v", got, clock.Furthest)
		}
	})
}
