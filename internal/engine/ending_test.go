package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The verdict depends on why a handler's context was canceled, on what the handler chose or returned, and on the
// policy. Only failures of the handler are counted.
func TestTheVerdictOnAHandlersResult(t *testing.T) {
	failed, busy := errors.New("failed"), errors.New("busy")
	for _, c := range []struct {
		name     string
		cause    error
		err      error
		chosen   *Verdict
		received int32
		lost     bool
		want     Action
		failures int
	}{
		{name: "handled", want: ActionDone},
		{name: "handled after its lease was lost", lost: true, want: ActionDone},
		{name: "failed", err: failed, want: ActionRetry, failures: 1},
		{name: "timed out", cause: ErrProcessingTimeout, err: failed, want: ActionReject},
		{name: "canceled by a stop", cause: ErrShutdown, err: failed, want: ActionRelease},
		{name: "canceled by a revocation", cause: ErrRevoked, err: failed, want: ActionRelease},
		{name: "failed after its lease was lost", lost: true, err: failed, want: ActionRelease},
		{name: "could not begin", err: busy, want: ActionHold},
		{name: "chosen", err: failed, chosen: &Verdict{Action: ActionDrop}, want: ActionDrop},
		{name: "released", chosen: &Verdict{Action: ActionRelease}, received: 8, want: ActionRelease},
		{name: "released at the limit", chosen: &Verdict{Action: ActionRelease}, received: 9, want: ActionReject},
	} {
		s, _ := bareSession(t, driver.ReceiveLimits{MaxReceives: 10}, &Config{
			Judge: func(*Item, error) Verdict { return Verdict{Action: ActionRetry} },
			Busy:  func(err error) (time.Duration, bool) { return time.Second, errors.Is(err, busy) },
		})
		it := &Item{in: s, Chosen: c.chosen, received: c.received}
		it.lost.Store(c.lost)
		v := s.runner.decide(it, c.cause, c.err)
		if v.Action != c.want || it.Failures != c.failures || it.first != noMoment != (c.failures > 0) {
			t.Errorf("%s: %v after %d failures, the first at %v; want %v after %d", c.name, v.Action, it.Failures,
				it.first, c.want, c.failures)
		}
	}
}

// A failure that opens the breaker, or that happens while it is open, is released, and no failure is counted.
func TestAFailureWithAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{
			Judge: func(*Item, error) Verdict { return Verdict{Action: ActionRetry} },
		})
		s.flow.breaker = newBreaker(s.flow, 2)
		defer s.flow.breaker.stop()
		it := &Item{in: s}
		for i, want := range []Action{ActionRetry, ActionRelease, ActionRelease} {
			if v := s.runner.decide(it, nil, errors.New("down")); v.Action != want || it.Failures != 1 {
				t.Errorf("failure %d: %v, with %d counted", i, v.Action, it.Failures)
			}
		}
	})
}

// Without dead letters the session stops instead of rejecting, with the reason.
func TestARejectWithoutDeadLetters(t *testing.T) {
	why := errors.New("why")
	for _, without := range []bool{false, true} {
		s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{NoDeadLetters: without})
		it := kind{}.ready(s)
		ends(s, starts(s), Verdict{Action: ActionReject, Reason: why})
		s.flow.settler.Close(t.Context())
		rejected, released := service.of(driver.Reject), service.of(driver.Release)
		stopped := s.Fatal()
		if errors.Is(stopped, ErrNoDeadLetters) != without || errors.Is(stopped, why) != without ||
			without && released != 1 || !without && rejected != 1 || it.state != gone {
			t.Errorf("without dead letters %v: %d rejected, %d released, ended with %v", without, rejected, released,
				stopped)
		}
	}
}

// If a verdict cannot be carried out, another one is, and the handler's stint ends with it.
func TestARetryAtTheLimitOfReceives(t *testing.T) {
	s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10, RetryMax: time.Hour, MaxReceives: 10}, &Config{})
	it := kind{}.ready(s)
	it.received = 10
	st := starts(s)
	ends(s, st, Verdict{Action: ActionRetry, After: time.Minute})
	s.flow.settler.Close(t.Context())
	if service.of(driver.Reject) != 1 || service.of(driver.Retry) != 0 || st.its != nil {
		t.Errorf("%d rejected, %d retried; the stint has %d items", service.of(driver.Reject),
			service.of(driver.Retry), len(st.its))
	}
}
