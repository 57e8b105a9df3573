package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Pollers pass only while there is no hold, and a hold ends the polls that are open.
func TestTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{}, &Config{})
		polls, stop := context.WithCancel(context.Background())
		f.polls = polls
		f.gate.begin(f, holdPaused)
		passed := make(chan context.Context, 1)
		enter := func() { go func() { passed <- f.gate.enter() }() }
		enter()
		synctest.Wait()
		f.gate.shut(holdBroken)
		if f.gate.lift(holdBroken) || len(passed) > 0 {
			t.Error("a poller passes during a pause")
		}
		f.gate.shut(holdBroken)
		if f.gate.lift(holdPaused) || len(passed) > 0 {
			t.Error("a poller passes although the breaker is open")
		}
		if !f.gate.lift(holdBroken) || f.gate.period == nil {
			t.Error("the gate is closed without a hold")
		}
		period := <-passed
		enter()
		if again := <-passed; again != period {
			t.Error("two pollers have two periods without a hold between them")
		}
		f.gate.shut(holdPaused)
		if period.Err() == nil || !f.gate.held(holdPaused) || f.gate.held(holdBroken) {
			t.Error("a hold does not end open polls, or is not known")
		}
		enter()
		synctest.Wait()
		stop()
		if period := <-passed; period != nil {
			t.Error("a poller passes after the end of the session")
		}
	})
}

// A hold at the start prevents the first poll; without one, pollers pass at once.
func TestTheGateAtTheStart(t *testing.T) {
	for _, holds := range []hold{0, holdPaused} {
		f := bare(driver.ReceiveLimits{}, &Config{})
		f.gate.begin(f, holds)
		if (f.gate.period == nil) != (holds != 0) {
			t.Errorf("with the holds %b the gate is closed: %v", holds, (f.gate.period == nil))
		}
	}
}

// A pause releases what has not started, and lets nothing start until it ends.
func TestAPauseReleasesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{RetryMax: time.Hour, SettleBatch: 10}, &Config{})
		service := withService(f)
		f.gate.begin(f, 0)
		waiting, busy := kind{}.arrive(f), kind{}.arrive(f)
		kind{}.to(t, f, waiting, queued)
		kind{}.to(t, f, busy, running)
		f.lock()
		f.gate.pause()
		f.unlock()
		f.settler.Close(t.Context())
		if got := service.of(driver.Release); got != 1 || busy.state != running {
			t.Errorf("%d are released, and the one with a handler is %v", got, busy.state)
		}
	})
}
