package engine

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A breaker opens after so many failures in a row, lets one item start from time to time, ever less often, and closes
// with the first success.
func TestTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{SettleBatch: 10, RetryMax: time.Hour}, &Config{})
		withService(f)
		f.gate.begin(f, 0)
		f.breaker = newBreaker(f, 3)
		ended := func(ok bool) (open bool) {
			f.lock()
			defer f.unlock()
			if !ok {
				return f.breaker.failed(errors.New("down"))
			}
			f.breaker.succeeded()
			return f.breaker.pause() > 0
		}
		for _, ok := range []bool{false, false, true, false, false} {
			if ended(ok) {
				t.Fatal("it opens before three failures in a row")
			}
		}
		if !ended(false) || !f.gate.held(holdBroken) || !strings.Contains(f.breaker.complaint(), "down") {
			t.Fatalf("it does not open, hold polls, or tell why: %q", f.breaker.complaint())
		}
		probing := func() bool {
			synctest.Wait()
			f.lock()
			defer f.unlock()
			return f.breaker.probing()
		}
		var probes []time.Duration
		for begun := time.Now(); len(probes) < 4; time.Sleep(100 * time.Millisecond) {
			if probing() {
				probes = append(probes, time.Since(begun))
				ended(false)
			}
		}
		if probes[0] < 2*time.Second || probes[0] > 6*time.Second || probes[3]-probes[2] <= probes[1]-probes[0] {
			t.Errorf("probes at %v", probes)
		}
		for !probing() {
			time.Sleep(time.Second)
		}
		if ended(true) || f.gate.held(holdBroken) || f.breaker.complaint() != "" || f.breaker.pause() != 0 {
			t.Error("it is open after a success")
		}
		f.breaker.stop()
		f.settler.Close(t.Context())
	})
}

// An item that has failed enough probes is exchanged for another one; one near the limit of receives stays.
func TestAProbeThatFailsOftenIsExchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{SettleBatch: 10, RetryMax: time.Hour, MaxReceives: 10}, &Config{})
		withService(f)
		f.gate.begin(f, 0)
		f.breaker = newBreaker(f, 1)
		f.lock()
		f.breaker.failed(errors.New("down"))
		f.unlock()
		it, near := kind{}.arrive(f), kind{}.arrive(f)
		near.received = 10
		for range probesEach - 1 {
			if keep, _ := f.breaker.keeps(it); !keep {
				t.Fatal("exchanged too early")
			}
		}
		if keep, away := f.breaker.keeps(it); keep || away != breakerPause.Max {
			t.Errorf("kept: %v, or away for %v", keep, away)
		}
		for range 2 * probesEach {
			if keep, _ := f.breaker.keeps(near); !keep {
				t.Error("released although the service is about to dead-letter it")
			}
		}
		f.breaker.stop()
		f.settler.Close(t.Context())
	})
}

// Without a limit of failures there is no breaker, and nothing opens it.
func TestNoBreaker(t *testing.T) {
	b := newBreaker(nil, 0)
	b.succeeded()
	if b.failed(errors.New("down")) || b.probing() || b.pause() != 0 || b.complaint() != "" {
		t.Error("it opens")
	}
	b.polled(3)
	b.stop()
}
