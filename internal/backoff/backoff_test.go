package backoff_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

func TestWaitDoublesToTheLongest(t *testing.T) {
	c := backoff.Curve{First: time.Second, Max: 5 * time.Second}
	for n, want := range map[int]time.Duration{-1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 4: 5, 5: 5, 1000: 5} {
		if got := c.Wait(n); got != want*time.Second {
			t.Errorf("Wait(%d) is %v, want %v", n, got, want*time.Second)
		}
	}
}

func TestWaitNeverOverflows(t *testing.T) {
	c := backoff.Curve{First: 3, Max: math.MaxInt64}
	for n := range 200 {
		if got := c.Wait(n); got < 3 {
			t.Fatalf("Wait(%d) is %d", n, got)
		}
	}
	if got := (backoff.Curve{}).Wait(math.MaxInt); got != 0 {
		t.Errorf("the zero Curve waits %v", got)
	}
}

func TestJitteredDrawsBetweenATenthAndAll(t *testing.T) {
	c := backoff.Curve{First: 10 * time.Second, Max: 10 * time.Second}
	least, most := c.Max, time.Duration(0)
	for range 2000 {
		d := c.Jittered(3)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second || least > 2*time.Second || most > 10*time.Second || most < 8*time.Second {
		t.Errorf("drew between %v and %v, want between 1s and 10s", least, most)
	}
	if d := (backoff.Curve{}).Jittered(1); d != 0 {
		t.Errorf("the zero Curve waits %v", d)
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := backoff.Sleep(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("slept %v, %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun = time.Now()
		if err := backoff.Sleep(ctx, time.Hour); err != context.DeadlineExceeded || time.Since(begun) != time.Minute {
			t.Errorf("slept %v, %v; want a minute", time.Since(begun), err)
		}
		for range 100 { // both select cases are ready, so one run could pass by chance
			if backoff.Sleep(ctx, 0) == nil {
				t.Fatal("slept under a context that had ended")
			}
		}
	})
}
