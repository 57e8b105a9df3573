package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// shutdownReserve is the part of a shutdown's budget for releases and settlements; half of a short budget.
const shutdownReserve = 5 * time.Second

func reserveOf(budget time.Duration) time.Duration { return min(shutdownReserve, budget/2) }

// leastPoll is the shortest wait of services, which count in seconds.
const leastPoll = time.Second

// FitWait shortens the wait of a poll so that a stop can wait for its end, because canceling an open poll may lose its
// messages. If a stop has no time for any wait, polls do not wait.
func FitWait(wait, budget time.Duration) time.Duration {
	if budget < 2*leastPoll {
		return -1
	}
	return min(wait, (budget - reserveOf(budget)).Truncate(time.Second))
}

// Shutdown ends a session within its budget. Items that have not started are released when the open polls have ended,
// at the latest when only the reserve is left. Running handlers may
// finish until only the reserve is left; then they are canceled, and their items released. Settlements are sent, and
// the receiver is closed. Shutdown returns why the session could not continue, or could not be closed.
func (s *Session) Shutdown() error {
	budget := s.cfg.ShutdownTimeout
	end := time.Now().Add(budget)
	reserve := reserveOf(budget)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	s.giveBackWaiting()
	defer time.AfterFunc(time.Until(end.Add(-reserve)), s.keepNothing).Stop()
	if !s.untilQuiet(end.Add(-reserve)) {
		s.flow.lock()
		s.flow.stints.cancelAll(ErrShutdown)
		s.flow.unlock()
		s.untilQuiet(end.Add(-reserve / 2))
		s.surrender()
	}
	polled := waitFor(ctx, s.pollers.wg.Wait) // accept releases what an open poll still returns
	s.keepNothing()
	s.flow.settler.Close(ctx)
	s.keeper.close()
	s.pace.looks.Wait()
	s.audit(polled)
	if !polled {
		s.cfg.Log.Warn("a poll was still open at the end of the stop: messages that it receives are delivered again when "+
			"their leases end; set a shorter WaitTime to prevent this", "ShutdownTimeout", budget, "WaitTime",
			s.cfg.Receiver.Wait)
	}
	return errors.Join(s.Fatal(), s.closeReceiver(ctx))
}

// closeReceiver closes the receiver, and counts the verdicts that it could not tell the service.
func (s *Session) closeReceiver(ctx context.Context) error {
	err := s.service.recv.Close(ctx)
	if lost := (*driver.UnsettledError)(nil); errors.As(err, &lost) {
		s.flow.lock()
		s.flow.count.Unsettled += int64(lost.Count)
		s.flow.unlock()
	}
	return err
}

// giveBackWaiting releases the waiting items when no poll is open any more.
func (s *Session) giveBackWaiting() {
	f := s.flow
	f.lock()
	f.breaker.stop()
	f.gate.park()
	f.takeSteps()
	f.queue.left = true
	f.unlock()
}

// keepNothing releases what waits, although a poll may be open, and removes the session from the bus.
func (s *Session) keepNothing() {
	f := s.flow
	f.lock()
	f.gate.release()
	f.takeSteps()
	s.fleet.bus.leave(&f.queue)
	f.unlock()
}

// untilQuiet waits until no handler runs, or until a time, and reports whether none runs.
func (s *Session) untilQuiet(end time.Time) bool {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for {
		s.fleet.mu.Lock()
		running := s.flow.running
		s.fleet.mu.Unlock()
		if running == 0 {
			return true
		}
		select {
		case <-s.flow.quiet:
		case <-timer.C:
			return false
		}
	}
}

// surrender stops waiting for handlers that do not return. It settles their items as they have chosen, and releases
// those about which they have chosen nothing.
func (s *Session) surrender() {
	f := s.flow
	var left []*worker
	f.lock()
	for _, st := range f.stints.all {
		for _, it := range slices.Clone(st.its) { // the items of a lane are in order
			if st.has(it) && !f.concludeRunning(it) {
				f.undoBehind(it)
				f.carryOut(it, Verdict{Action: ActionRelease}, nil)
			}
		}
		if st.worker != nil {
			f.stints.unseat(st)
			s.fleet.retire(st.worker)
			left = append(left, st.worker)
		}
	}
	f.unlock()
	for _, w := range left {
		s.fleet.refill(w)
	}
}

// audit reports what the session still holds at its end, when all its items have been settled or released.
func (s *Session) audit(polled bool) {
	f := s.flow
	f.lock()
	left := ""
	if polled && f.running == 0 { // otherwise a poll or a handler still holds something
		left = f.ledger.left(s.fleet.alone)
	}
	if left != "" {
		f.count.Leaked++
	}
	f.unlock()
	if left != "" {
		s.cfg.Log.Error("the consumer's counts of held deliveries are not zero at its end: please report this as a bug",
			"left", left)
	}
}

// waitFor waits until f returns or ctx ends, and reports whether f has returned.
func waitFor(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
