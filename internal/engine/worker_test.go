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
		extra  int32
		takes  bool
	}{"alone": {takes: true}, "in a fleet": {shared: true}, "a worker too many": {extra: 1}} {
		s, _ := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{ProcessingTimeout: time.Minute})
		s.fleet.alone = !c.shared
		s.fleet.extra.Store(c.extra)
		its := arriveAll(s, "xy")
		st := starts(s)
		s.runner.worked(st, its[0], nil)
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
			Handle: func(_ context.Context, it *Item) error {
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
				Handle: func(_ context.Context, it *Item) error {
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
