package engine

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A worker whose handler has returned starts the next item at once, unless other sessions use the workers, or there are
// too many workers.
func TestAWorkerStartsTheNextItem(t *testing.T) {
	for name, c := range map[string]struct {
		shared bool
		extra  int
		takes  bool
	}{"alone": {takes: true}, "in a fleet": {shared: true}, "a worker too many": {extra: 1}} {
		s, _ := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{ProcessingTimeout: time.Minute})
		s.fleet.alone = !c.shared
		s.fleet.there = s.fleet.size + c.extra
		its := arriveAll(s, "xy")
		st := starts(s)
		s.runner.worked(st, &call{it: its[0], ctx: its[0].Context})
		if taken := st.worker.taken; (taken == its[1]) != c.takes || (its[1].state == running) != c.takes {
			t.Errorf("%s: it took %v, which is %v", name, taken, its[1].state)
		}
	}
}

// A handler that ends its goroutine has failed, and another worker handles the next item. An undecodable item does not
// reach a handler.
func TestAHandlerThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handled string
		var failed error
		s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{
			ProcessingTimeout: time.Minute,
			Handle: func(_ context.Context, it *Item, _ **Verdict) error {
				if handled += it.ID; it.ID == "x" {
					runtime.Goexit()
				}
				return nil
			},
			Judge: func(_ *Item, err error) Verdict { failed = err; return Verdict{Action: ActionReject} },
		})
		arriveAll(s, "x!z")[1].Err = errors.New("undecodable")
		s.cfg.Death = func(*Item, error) *driver.Death { return nil }
		s.fleet.Resize(1)
		time.Sleep(time.Second)
		s.fleet.Close()
		if handled != "xz" || !errors.Is(failed, ErrGoexit) || service.of(driver.Reject) != 2 ||
			service.of(driver.Done) != 1 {
			t.Errorf("handled %s; failed with %v; %d rejected", handled, failed, service.of(driver.Reject))
		}
	})
}

// Another worker replaces one whose handler ignores its timeout, and the report has the handler's stack. When the
// handler returns at last, its result does not count. Too many such handlers end the session.
func TestAHandlerThatIsStuck(t *testing.T) {
	for _, most := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			handled, release := make(chan string, 2), make(chan struct{})
			s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{
				ProcessingTimeout: time.Second, MaxAbandoned: most,
				Handle: func(_ context.Context, it *Item, _ **Verdict) error {
					if handled <- it.ID; it.ID == "x" {
						<-release
					}
					return nil
				},
			})
			it := arriveAll(s, "xy")[0]
			gen := it.gen
			s.keeper.run(t)
			s.fleet.Resize(1)
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := len(handled); n != 1+most || errors.Is(s.Fatal(), ErrAbandoned) != (most == 0) {
				t.Errorf("%d may be stuck: %d handlers have begun, ended with %v", most, n, s.Fatal())
			}
			a := s.Health(time.Now()).Abandoned
			if len(a) != 1 || a[0].ID != "x" || !strings.Contains(a[0].Stack, "worker_test") {
				t.Errorf("abandoned: %+v", a)
			}
			close(release)
			s.fleet.Close()
			synctest.Wait()
			n := s.Counts().StillRunning
			if reused := it.gen != gen; n != 0 || service.of(driver.Reject) != most || !reused {
				t.Errorf("%d run still, %d rejected, can be reused: %v", n, service.of(driver.Reject), reused)
			}
		})
	}
}

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
		it := &Item{in: s, use: use{received: c.received}}
		it.lost.Store(c.lost)
		v := s.runner.decide(it, c.chosen, c.cause, c.err)
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
			if v := s.runner.decide(it, nil, nil, errors.New("down")); v.Action != want || it.Failures != 1 {
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
