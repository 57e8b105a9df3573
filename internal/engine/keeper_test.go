package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// run runs the keeper of a session until the end of the test.
func (k *keeper) run(t *testing.T) {
	t.Helper()
	go k.loop()
	t.Cleanup(k.close)
}

// The keeper wakes when the first thing is due, also if it was armed for a later one.
func TestTheKeeperWakesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{Lease: time.Hour}, &Config{ProcessingTimeout: time.Hour})
		s.keeper.run(t)
		synctest.Wait()
		begun := time.Now()
		hold := func(after time.Duration) *Item {
			s.flow.lock()
			it := kind{lane: uint64(after)}.ready(s)
			s.flow.unlock()
			starts(s)
			s.flow.lock()
			s.flow.held.hold(it, after, 1)
			s.flow.unlock()
			synctest.Wait()
			return it
		}
		late, early := hold(10*time.Second), hold(3*time.Second)
		for _, c := range []struct {
			at          time.Duration
			early, late state
		}{
			{3*time.Second - 1, shelved, shelved},
			{3 * time.Second, queued, shelved},
			{10*time.Second - 1, queued, shelved},
			{10 * time.Second, queued, queued},
		} {
			time.Sleep(c.at - time.Since(begun))
			synctest.Wait()
			s.flow.lock()
			if early.state != c.early || late.state != c.late {
				t.Errorf("after %v the early one is %v and the late one %v", c.at, early.state, late.state)
			}
			s.flow.unlock()
		}
	})
}

// The keeper cancels a handler whose timeout is over, and wakes again when the handler must be abandoned.
func TestTheKeeperEndsTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{ProcessingTimeout: 5 * time.Second})
		kind{lane: 7}.ready(s)
		st := starts(s)
		begun := s.flow.clock.now()
		if next := s.keeper.fire(begun); next.since(begun) != 5*time.Second || st.ctx.Err() != nil {
			t.Errorf("it wakes after %v; the handler: %v", next.since(begun), st.ctx.Err())
		}
		time.Sleep(5 * time.Second)
		next := s.keeper.fire(s.flow.clock.now())
		if cause := context.Cause(st.ctx); !errors.Is(cause, ErrProcessingTimeout) || s.flow.count.TimedOut != 1 {
			t.Errorf("after its timeout the handler is canceled because of %v", cause)
		}
		if next.since(begun) != 5*time.Second+abandonAfter || s.keeper.armed != next {
			t.Errorf("it wakes again after %v", next.since(begun))
		}
	})
}

// The meter is read every few seconds while handlers run, and starts again from zero with the running ones.
func TestTheKeeperReadsTheMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{ProcessingTimeout: time.Hour})
		f := s.flow
		kind{}.ready(s)
		st := starts(s)
		time.Sleep(paceInterval)
		m := s.keeper.read(f.clock.now())
		if m.started != 1 || m.worked != paceInterval || f.stints.meter.started != 0 {
			t.Errorf("read %+v, and %+v is left", m, f.stints.meter)
		}
		if next := f.stints.tickAt; next != f.clock.now().plus(paceInterval) {
			t.Errorf("it is read again at %v", next)
		}
		f.stints.returned(st, f.clock.now())
		if m := s.keeper.read(f.clock.now()); m.ended != 1 || m.handlers != 0 || f.stints.tickAt != never {
			t.Errorf("read %+v, and again at %v although none runs", m, f.stints.tickAt)
		}
	})
}

// A lease is renewed when a third of what was granted is left, not at once if it is short, and not after its end.
func TestWhenALeaseIsRenewed(t *testing.T) {
	now := moment(time.Hour)
	for granted, want := range map[time.Duration]time.Duration{
		30 * time.Second:        20 * time.Second,
		1200 * time.Millisecond: time.Second,
		500 * time.Millisecond:  500 * time.Millisecond,
	} {
		var l lease
		l.ends = now.plus(granted)
		if at := l.renewAt(now).since(now); at != want {
			t.Errorf("a lease of %v is renewed after %v, want %v", granted, at, want)
		}
		if at := l.again(now).since(now); at != min(renewRetry, granted) {
			t.Errorf("a lease of %v is tried again after %v", granted, at)
		}
	}
}

// renewed is a session whose leases are renewed, and the calls for that.
type renewed struct {
	*Session
	mu    sync.Mutex
	calls []string
}

// renews returns a session whose renewals are answered by a function; nil: all succeed.
func renews(t *testing.T, lim driver.ReceiveLimits, answer func(hs []driver.Handle) error) *renewed {
	t.Helper()
	lim.Lease = 30 * time.Second
	s, service := bareSession(t, lim, &Config{})
	r, begun := &renewed{Session: s}, time.Now()
	service.extend = func(hs []driver.Handle, by time.Duration) (time.Time, error) {
		ends := time.Now().Add(by)
		r.mu.Lock()
		r.calls = append(r.calls, fmt.Sprintf("%v: %d by %v", time.Since(begun), len(hs), by))
		r.mu.Unlock()
		if answer == nil {
			return ends, nil
		}
		return ends, answer(hs)
	}
	s.keeper.run(t)
	return r
}

// come adds n items that can start.
func (r *renewed) come(n int) (its []*Item) {
	r.flow.lock()
	defer r.flow.unlock()
	for range n {
		its = append(its, kind{}.ready(r.Session))
	}
	return its
}

// after sleeps, and returns the calls since the last time, sorted.
func (r *renewed) after(d time.Duration) []string {
	time.Sleep(d)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	slices.Sort(calls)
	return calls
}

// Leases are renewed together, in batches as large as the service takes, and never for longer than the service allows.
func TestRenewals(t *testing.T) {
	for name, c := range map[string]struct {
		total time.Duration
		later time.Duration // when two more items arrive after the first two
		want  []string      // in the first 25 s
		lost  int64         // in 70 s
	}{
		"in batches":                   {0, 0, []string{"20s: 3 by 30s", "20s: 1 by 30s"}, 0},
		"with those that are due soon": {0, 9 * time.Second, []string{"20s: 3 by 30s"}, 0},
		"with a total":                 {45 * time.Second, 0, []string{"20s: 3 by 25s", "20s: 1 by 25s"}, 4},
		"near the total, not together": {45 * time.Second, time.Second, []string{"20s: 2 by 25s", "20s: 2 by 26s"}, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := renews(t, driver.ReceiveLimits{SettleBatch: 3, LeaseTotal: c.total}, nil)
			r.come(2)
			time.Sleep(c.later)
			r.come(2)
			slices.Sort(c.want)
			if calls := r.after(25*time.Second - c.later); !slices.Equal(calls, c.want) {
				t.Errorf("%s: %q, want %q", name, calls, c.want)
			}
			if r.after(45 * time.Second); r.Counts().LeaseLost != c.lost {
				t.Errorf("%s: %d leases are lost, want %d", name, r.Counts().LeaseLost, c.lost)
			}
		})
	}
}

// A lease that the service says is lost is lost; other errors are tried again until the lease ends. A lease that was
// settled before its renewal is not lost: the answer to the settlement counts.
func TestAFailedRenewal(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		told bool
		want []string // within 25 s
		lost int64    // after them
		ends int64    // lost when the first lease has ended
	}{
		"lost":               {err: driver.ErrLost, want: []string{"20s: 2 by 30s"}, lost: 1, ends: 1},
		"lost, and settled":  {err: driver.ErrLost, told: true, want: []string{"20s: 2 by 30s"}, lost: 0, ends: 1},
		"failed for a while": {err: errors.New("down"), want: []string{"20s: 2 by 30s", "21s: 1 by 30s"}},
		"succeeded":          {want: []string{"20s: 2 by 30s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := renews(t, driver.ReceiveLimits{SettleBatch: 10}, func(hs []driver.Handle) error {
				if c.err == nil || len(hs) == 1 { // the second try
					return nil
				}
				return &driver.BatchError{Errs: map[int]error{0: c.err}}
			})
			r.come(2)[0].told.Store(c.told)
			calls := r.after(25 * time.Second)
			if n := r.Counts().LeaseLost; !slices.Equal(calls, c.want) || n != c.lost {
				t.Errorf("%s: %q, and %d lost; want %q and %d", name, calls, n, c.want, c.lost)
			}
			if r.after(10 * time.Second); r.Counts().LeaseLost != c.ends {
				t.Errorf("%s: %d lost after the end of the lease, want %d", name, r.Counts().LeaseLost, c.ends)
			}
		})
	}
}

// While renewals are not answered, only so many are in flight. The leases end meanwhile, and handlers are canceled.
func TestRenewalsThatAreNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := renews(t, driver.ReceiveLimits{SettleBatch: 1}, func([]driver.Handle) error { <-hang; return nil })
		r.come(renewalsAtOnce + 2)
		r.cfg.ProcessingTimeout = time.Hour
		st := starts(r.Session)
		if calls := r.after(29 * time.Second); len(calls) != renewalsAtOnce {
			t.Errorf("%d renewals are in flight, want %d", len(calls), renewalsAtOnce)
		}
		r.after(time.Second)
		cause := context.Cause(st.ctx)
		if !errors.Is(cause, ErrLeaseLost) || r.Counts().LeaseLost != renewalsAtOnce+2 {
			t.Errorf("%d leases are lost; the handler's cause is %v", r.Counts().LeaseLost, cause)
		}
		close(hang)
	})
}

// A release waits for the answer of a renewal in flight, and no renewal follows, unless the release fails.
func TestAReleasedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renews(t, driver.ReceiveLimits{}, func([]driver.Handle) error { time.Sleep(3 * time.Second); return nil })
		it := r.come(1)[0]
		time.Sleep(21 * time.Second)
		begun := time.Now()
		r.keeper.stopRenewing(t.Context(), it)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it waited %v for the renewal, want 2s", took)
		}
		if calls := r.after(20 * time.Second); len(calls) != 1 {
			t.Errorf("the lease was renewed after its release: %q", calls)
		}
		if r.keeper.renewAgain(it); len(r.after(5*time.Second)) != 1 || r.Counts().LeaseLost != 0 {
			t.Errorf("after the release failed, the lease was not renewed, and %d are lost", r.Counts().LeaseLost)
		}
	})
}

// If more is held than there are places, waiting items are released instead of renewed, except at the limit of
// receives.
func TestSpareItemsAreNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := renews(t, driver.ReceiveLimits{MaxReceives: 10}, nil)
		its := r.come(3)
		its[1].received = 10
		r.cfg.ProcessingTimeout = time.Hour
		starts(r.Session)
		r.flow.lock()
		r.flow.places.size = 1
		r.flow.unlock()
		r.after(25 * time.Second)
		r.flow.lock()
		defer r.flow.unlock()
		if its[0].state != running || its[1].state != queued || its[2].state != gone {
			t.Errorf("the running one is %v, the one at the limit %v, the spare one %v", its[0].state, its[1].state,
				its[2].state)
		}
	})
}

// All leases are renewed in time, also many that are due at the same time while each request takes long.
func TestManyLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 1500
		r := renews(t, driver.ReceiveLimits{SettleBatch: 10, Window: held}, func([]driver.Handle) error {
			time.Sleep(400 * time.Millisecond)
			return nil
		})
		r.flow.lock()
		for range held {
			kind{}.came(r.Session)
		}
		r.flow.unlock()
		time.Sleep(time.Minute)
		if lost := r.Counts().LeaseLost; lost != 0 {
			t.Errorf("%d leases of %d were lost", lost, held)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if most := 4 * held / 10; len(r.calls) > most { // renewed each 20 s, or a little earlier
			t.Errorf("%d requests, at most %d are needed", len(r.calls), most)
		}
	})
}
