package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A poll's wait ends in time for a stop, and is whole seconds. If there is no time for any wait, there is none.
func TestTheWaitOfAPollFitsAStop(t *testing.T) {
	for _, c := range []struct{ wait, budget, want time.Duration }{
		{20 * time.Second, 30 * time.Second, 20 * time.Second},
		{20 * time.Second, 15 * time.Second, 10 * time.Second},
		{20 * time.Second, 5 * time.Second, 2 * time.Second},
		{20 * time.Second, 2 * time.Second, time.Second},
		{20 * time.Second, 2*time.Second - 1, -1},
		{time.Second, time.Minute, time.Second},
	} {
		if wait := FitWait(c.wait, c.budget); wait != c.want {
			t.Errorf("polls that may wait %v, and a stop of %v: %v, want %v", c.wait, c.budget, wait, c.want)
		}
	}
}

// A stop waits for a running handler. With the reserve left it cancels the handler, then it releases the handler's item
// without a further wait. Waiting items are released at once.
func TestAShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		returns   time.Duration // unless it is canceled
		ignores   bool          // the end of its context
		took      time.Duration
		cause     error
		remaining int
	}{
		"a handler returns":                {3 * time.Second, false, 3 * time.Second, nil, 0},
		"a handler is canceled":            {time.Hour, false, 25 * time.Second, ErrShutdown, 0},
		"a handler ignores that":           {time.Hour, true, 27500 * time.Millisecond, ErrShutdown, 1},
		"a handler ignores it for a while": {26 * time.Second, true, 26 * time.Second, ErrShutdown, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			over, ended := make(chan struct{}), make(chan error, 1)
			cfg := &Config{ShutdownTimeout: 30 * time.Second, ProcessingTimeout: time.Hour}
			cfg.Handle = func(ctx context.Context, _ *Item) error {
				defer func() { ended <- context.Cause(ctx) }()
				canceled := ctx.Done()
				if c.ignores {
					canceled = over
				}
				select {
				case <-time.After(c.returns):
				case <-canceled:
				}
				return nil
			}
			s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, cfg)
			service.close = func() error { return &driver.UnsettledError{Count: 3} }
			arriveAll(s, "xy")
			go s.keeper.loop() // Shutdown ends it
			s.fleet.Resize(1)
			synctest.Wait()
			s.Stop(nil)
			begun := time.Now()
			err := s.Shutdown()
			took, n := time.Since(begun), s.Counts()
			if lost := (*driver.UnsettledError)(nil); !errors.As(err, &lost) || n.Unsettled != 3 || n.Leaked != 0 {
				t.Errorf("%s: %v; %d unsettled, %d leaked", name, err, n.Unsettled, n.Leaked)
			}
			if service.of(driver.Release) != 1+c.remaining || service.of(driver.Done) != 1-c.remaining {
				t.Errorf("%s: %d released, %d done", name, service.of(driver.Release), service.of(driver.Done))
			}
			close(over)
			s.fleet.Close()
			if cause := <-ended; took != c.took || !errors.Is(cause, c.cause) || n.StillRunning != c.remaining {
				t.Errorf("%s: it took %v; the handler's cause is %v; %d run still", name, took, cause, n.StillRunning)
			}
		})
	}
}
