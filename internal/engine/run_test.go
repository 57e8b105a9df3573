package engine

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// runs returns a session whose handlers are known to be short, with items. handle is called for each of them.
func runs(t *testing.T, letters string, handle func(it *Item) error) (*Session, *fakeService) {
	t.Helper()
	s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10, RetryMax: time.Hour}, &Config{
		ProcessingTimeout: time.Minute,
		Handle:            func(_ context.Context, it *Item, _ **Verdict) error { return handle(it) },
		Judge:             func(_ *Item, err error) Verdict { return Verdict{Action: ActionReject, Reason: err} },
	})
	s.flow.stints.short = shortInARow
	arriveAll(s, letters)
	return s, service
}

// running is the IDs of the items that a stint has.
func (st *stint) running() string {
	var ids strings.Builder
	for _, it := range st.its {
		ids.WriteString(it.ID)
	}
	return ids.String()
}

// A worker takes several items at once: heads of lanes, and the items behind them. Idle workers get their part. After
// long handlers, and where each start is counted, delayed or reported, it takes one.
func TestWhenWorkersTakeRuns(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(s *Session)
		takes string
	}{
		{name: "short handlers", takes: "axyb"},
		{name: "an idle worker", setup: func(s *Session) { s.fleet.idle = 1 }, takes: "axb"},
		{
			name: "a long handler", takes: "a",
			setup: func(s *Session) { s.flow.stints.handled(1, time.Second, time.Second) },
		},
		{name: "few short handlers", setup: func(s *Session) { s.flow.stints.short = shortInARow - 1 }, takes: "a"},
		{name: "each end is reported", setup: func(s *Session) { s.cfg.TellEnded = true }, takes: "a"},
		{
			name: "a rate", takes: "a",
			setup: func(s *Session) { s.flow.rates = newRates(Rate{Every: time.Nanosecond, Burst: 9}, Rate{}, 0) },
		},
		{name: "a probe", setup: func(s *Session) { s.flow.queue.frozen = true }, takes: "a"},
		{
			name: "a short timeout", takes: "a",
			setup: func(s *Session) { s.cfg.ProcessingTimeout = 10 * time.Millisecond },
		},
		{name: "a stop", setup: func(s *Session) { s.halt(nil) }, takes: "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := runs(t, "axyb", nil)
			for _, letter := range "uvw" { // they stay on the bus, for other workers
				k := kind{}.came(s)
				k.ID = string(letter)
				s.flow.ready(k, true)
			}
			if c.setup != nil {
				c.setup(s)
			}
			st := starts(s)
			s.flow.lock()
			s.flow.stints.extend(st, s.flow.clock.now())
			s.flow.unlock()
			if got := st.running(); got != c.takes {
				t.Errorf("it takes %s, want %s", got, c.takes)
			}
		})
	}
}

// All items of runs are handled and settled, those of a lane in order. A handler that takes long delays the others by a
// millisecond, except for those behind it in its lane.
func TestALongHandlerInARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var mu sync.Mutex
		var handled strings.Builder
		var last time.Duration
		s, service := runs(t, "xyazbuvwc", func(it *Item) error {
			if it.ID == "b" {
				time.Sleep(time.Second)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			handled.WriteString(it.ID)
			last = time.Since(begun)
			return nil
		})
		so := func() string {
			mu.Lock()
			defer mu.Unlock()
			return handled.String()
		}
		s.keeper.run(t)
		s.fleet.Resize(1)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if got := so(); strings.Contains(got, "c") {
			t.Errorf("handled %s: the item behind the running one, too", got)
		}
		s.fleet.Resize(2)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if h := s.Health(time.Now()); h.Running != 1 || len(so()) != 7 || service.of(driver.Done) != 7 {
			t.Errorf("%d run, handled %s, settled %d; want 1, seven others and 7", h.Running, so(),
				service.of(driver.Done))
		}
		time.Sleep(time.Second)
		s.fleet.Close()
		synctest.Wait()
		if !strings.HasSuffix(so(), "c") || service.of(driver.Done) != 9 || last != time.Second {
			t.Errorf("handled %s, settled %d, the last after %v", so(), service.of(driver.Done), last)
		}
		if c := s.Counts(); c.Handled != 9 || s.flow.stints.meter.started != 9 || s.flow.stints.meter.ended != 9 {
			t.Errorf("%+v; %+v", c, s.flow.stints.meter)
		}
	})
}

// While other workers are free, they handle the rest of a run a millisecond after its handler has begun.
func TestTheRestOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var late time.Duration
		s, _ := runs(t, "vwxyz", func(it *Item) error {
			switch it.ID {
			case "w":
				time.Sleep(time.Second)
			case "v":
				time.Sleep(0)
			default:
				late = max(late, time.Since(begun))
			}
			return nil
		})
		st := starts(s)
		s.flow.lock()
		s.flow.stints.extend(st, s.flow.clock.now())
		s.flow.unlock()
		if len(st.its) != 3 {
			t.Fatalf("a run of %s", st.running())
		}
		s.keeper.run(t)
		go s.runner.work(st.worker, st.its[0])
		s.fleet.Resize(1)
		time.Sleep(2 * time.Second)
		s.fleet.Close()
		if c := s.Counts(); late != runLasts || c.Handled != 5 {
			t.Errorf("the others were handled after %v, %d in all; want %v and 5", late, c.Handled, runLasts)
		}
	})
}

// An item of a run that fails is judged alone. Those before it are settled, and those after it handled, with the next
// of its lane after its verdict. A handler that ends its goroutine has failed.
func TestAFailureInARun(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":     func() error { return errors.New("no") },
		"goroutine": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handled := ""
				s, service := runs(t, "xyzabuvwc", func(it *Item) error {
					if handled += it.ID; it.ID == "b" {
						return fail()
					}
					return nil
				})
				s.fleet.Resize(1)
				time.Sleep(time.Second)
				s.fleet.Close()
				synctest.Wait()
				inOrder := strings.Index(handled, "a") < strings.Index(handled, "b") &&
					strings.Index(handled, "b") < strings.Index(handled, "c")
				if len(handled) != 9 || !inOrder || service.of(driver.Reject) != 1 || service.of(driver.Done) != 8 {
					t.Errorf("handled %s, rejected %d, done %d", handled, service.of(driver.Reject),
						service.of(driver.Done))
				}
			})
		})
	}
}

// Whatever ends a run leaves its current item in hand, settles those before, and starts none of those after.
func TestWhatEndsARun(t *testing.T) {
	for name, end := range map[string]func(s *Session){
		"a pause":       func(s *Session) { s.flow.gate.pause() },
		"a log's pause": func(s *Session) { s.flow.lim.Keeps = true; s.flow.gate.pause() },
		"a stop":        func(s *Session) { s.halt(nil); s.flow.gate.park() },
		"a breaker":     func(s *Session) { s.flow.breaker.failed(nil) },
		"a lost lease":  func(s *Session) { s.flow.lose(s.flow.stints.all[0].its[3]) },
		"a revocation":  func(s *Session) { s.flow.stints.cancelOf(nil, ErrRevoked) },
		"a shutdown":    func(s *Session) { s.flow.stints.cancelAll(ErrShutdown) },
	} {
		t.Run(name, func(t *testing.T) {
			handled := ""
			s, service := runs(t, "nopqrstuvwxyzabc", nil)
			s.flow.breaker = newBreaker(s.flow, 1)
			st := starts(s)
			s.flow.lock()
			s.flow.stints.extend(st, s.flow.clock.now())
			its := append([]*Item(nil), st.its...)
			s.flow.unlock()
			s.cfg.Handle = func(_ context.Context, it *Item, _ **Verdict) error {
				if handled += it.ID; it == its[2] {
					s.flow.lock()
					end(s)
					s.flow.takeSteps()
					going := its[2].state == running
					if its[0].stint != nil || going == (name == "a shutdown") || st.running() != its[2].ID {
						t.Errorf("the stint has %s, the first is %v, the current %v", st.running(), its[0].state,
							its[2].state)
					}
					for _, it := range its[3:] {
						if it.state.inHand() {
							t.Errorf("%s is %v", it.ID, it.state)
						}
					}
					s.fleet.there = s.fleet.size + 1 // the worker takes nothing else
					s.flow.unlock()
				}
				return nil
			}
			s.runner.work(st.worker, its[0])
			s.flow.settler.Close(t.Context())
			if len(handled) != 3 || service.of(driver.Done) < 2 {
				t.Errorf("handled %s, settled %d", handled, service.of(driver.Done))
			}
			if text := s.flow.imbalance(); text != "" {
				t.Error(text)
			}
		})
	}
}

// Each item of a run begins, and has a context of its own, which ends with its handler. A verdict that its handler has
// chosen counts, also if that handler returns nothing.
func TestEachItemOfARun(t *testing.T) {
	s, service := runs(t, "tuvwxyz", nil)
	begun := 0
	s.cfg.Begin = func(*Item) { begun++ }
	st := starts(s)
	s.flow.lock()
	s.flow.stints.extend(st, s.flow.clock.now())
	s.fleet.there = s.fleet.size + 1 // the worker takes nothing else
	s.flow.unlock()
	its := append([]*Item(nil), st.its...)
	var ctxs []context.Context
	s.cfg.Handle = func(ctx context.Context, it *Item, chosen **Verdict) error {
		if ctxs = append(ctxs, ctx); it == its[2] {
			*chosen = &Verdict{Action: ActionReject, Reason: errors.New("no")}
		}
		return nil
	}
	s.runner.work(st.worker, its[0])
	s.flow.settler.Close(t.Context())
	if begun != 3 || len(ctxs) != 3 || ctxs[0] == ctxs[1] || service.of(driver.Reject) != 1 ||
		service.of(driver.Done) != 2 {
		t.Errorf("%d begun, %d handled, %d rejected, %d done; want 3, 3, 1, 2", begun, len(ctxs),
			service.of(driver.Reject), service.of(driver.Done))
	}
	for i, ctx := range ctxs {
		if ctx.Err() == nil {
			t.Errorf("context %d has not ended", i)
		}
	}
}
