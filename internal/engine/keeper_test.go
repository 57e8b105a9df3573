package engine

import (
	"context"
	"errors"
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
