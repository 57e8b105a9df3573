package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// bareSession returns a session with all its parts and a service, whose pollers, keeper and workers do not run.
func bareSession(t *testing.T, lim driver.ReceiveLimits, cfg *Config) (*Session, *fakeService) {
	t.Helper()
	s := &Session{cfg: *cfg, obs: deaf{}}
	c := &s.cfg
	c.Begin = func(*Item) {}
	if c.Choice == nil {
		c.Choice = func(*Item) *Verdict { return nil }
	}
	c.Own = func([]*Item, []driver.Delivery) {}
	c.Error = func(op, _ string, err error) error { return fmt.Errorf("%s: %w", op, err) }
	c.Panic = func(p any) error { return fmt.Errorf("panic: %v", p) }
	c.Death = func(_ *Item, reason error) *driver.Death { return &driver.Death{Error: reason.Error()} }
	c.Blame = func(error) bool { return true }
	if c.Busy == nil {
		c.Busy = func(error) (time.Duration, bool) { return 0, false }
	}
	f := bare(lim, c)
	service := withService(f)
	s.polls, s.halt = context.WithCancelCause(context.Background())
	f.polls = s.polls
	f.gate.begin(f, 0)
	f.queue.batches = c.HandleBatch != nil
	s.fleet, s.flow, s.runner = f.fleet, f, runner{f: f, cfg: c, obs: s.obs}
	s.service.session, s.service.cfg, s.service.obs, s.service.recv = s, c, s.obs, service
	s.pace = newPacing(s, max(1, c.Concurrency))
	s.keeper = newKeeper(s, service, commonContext{context.Background(), f.clock})
	f.keeper = s.keeper
	s.pollers = &pollers{
		service: &s.service, f: f, seed: maphash.MakeSeed(), guard: s.guard, turn: make(chan struct{}, 1), n: 1,
	}
	t.Cleanup(func() {
		s.halt(nil)
		f.settler.Close(context.Background())
	})
	return s, service
}

// came returns a new item of a session, which waits in its lane with a fresh lease.
func (k kind) came(s *Session) *Item {
	f := s.flow
	it := k.arrive(f)
	it.in = s
	f.leases.remove(it)
	f.keeper.keep(it, time.Now().Add(max(f.lim.Lease, 30*time.Second)), f.clock.now())
	return it
}

// ready returns a new item of a session that can start.
func (k kind) ready(s *Session) *Item {
	it := k.came(s)
	s.flow.ready(it, true)
	return it
}

// starts starts the first item of the bus, as a worker does without running its handler.
func starts(s *Session) *stint {
	f := s.flow
	st := &stint{worker: &worker{fleet: s.fleet}}
	st.worker.stint = st
	f.lock()
	defer f.unlock()
	f.stints.begin(f.queue.head, st, f.clock.now())
	return st
}

// ends ends a handler with a verdict on its item.
func ends(s *Session, st *stint, v Verdict) {
	s.flow.lock()
	s.flow.stints.returned(st, s.flow.clock.now())
	s.flow.unlock()
	s.runner.conclude(st.its[0], v, st)
}

// The first error ends a session. An error after a stop is not the session's.
func TestTheFirstErrorEndsASession(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
	s.fail(first)
	s.fail(second)
	if err := s.Fatal(); !errors.Is(err, first) || !errors.Is(context.Cause(s.polls), first) {
		t.Errorf("it ended because of %v, with the cause %v", err, context.Cause(s.polls))
	}
	s, _ = bareSession(t, driver.ReceiveLimits{}, &Config{})
	s.Stop(nil)
	s.fail(second)
	if err := s.Fatal(); err != nil {
		t.Errorf("a stopped session failed with %v", err)
	}
}

// A panic of the engine does not end the process. Several of them in a short time end the session.
func TestPanicsOfTheEngine(t *testing.T) {
	s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
	for i := range maxFaults {
		if s.Fatal() != nil {
			t.Fatalf("the session ended after %d panics", i)
		}
		s.guard(func() { panic("oops") })
	}
	if err := s.Fatal(); !errors.Is(err, errFaults) {
		t.Errorf("after %d panics the session ended with %v", maxFaults, err)
	}
}

// The health of a session has the number of its running handlers, when the oldest began, and the abandoned ones in
// order.
func TestTheHealthOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{MaxAbandoned: 3})
		if h := s.Health(time.Now()); h.Running != 0 || !h.Oldest.IsZero() || len(h.Complaints) > 0 {
			t.Errorf("without handlers: %+v", h)
		}
		begun := time.Now()
		for _, id := range []string{"a", "b", "c"} {
			kind{lane: uint64(id[0])}.ready(s).ID = id
			st := starts(s)
			st.late = true
			s.flow.lock()
			s.flow.stints.cancel(st, ErrProcessingTimeout)
			s.flow.stints.abandon(st, nil)
			s.flow.unlock()
			time.Sleep(time.Second)
		}
		h := s.Health(time.Now())
		var ids string
		for _, a := range h.Abandoned {
			ids += a.ID
		}
		if h.Running != 3 || !h.Oldest.Equal(begun) || ids != "abc" {
			t.Errorf("%d run, the oldest since %v; %q are abandoned", h.Running, h.Oldest.Sub(begun), ids)
		}
	})
}

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
			cfg.Handle = func(ctx context.Context, _ *Item, _ **Verdict) error {
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
