package godwit

import (
	"context"
	"time"
)

// shutdownReserve is the part of a shutdown's budget that is kept for giving back and flushing, half of a short one.
const shutdownReserve = 5 * time.Second

func reserveOf(budget time.Duration) time.Duration { return min(shutdownReserve, budget/2) }

// leastPoll is the shortest wait that services take, who count in seconds.
const leastPoll = time.Second

// fitWait shortens the wait of a poll so that a stop can wait for its end: on a channel without order an open poll cannot
// be cancelled without losing what it was handed. A stop that has no time for any wait gets polls that do not wait.
func fitWait(wait, budget time.Duration) time.Duration {
	if budget < 2*leastPoll {
		return -1
	}
	return min(wait, (budget - reserveOf(budget)).Truncate(time.Second))
}

// shutdown ends a session within the budget: what has not started is given back at once, running handlers may finish
// until only the reserve is left, then they are cancelled and given back; verdicts are flushed; the receiver closed.
func (s *session) shutdown(p *pollers) error {
	budget := s.c.o.ShutdownTimeout
	end := time.Now().Add(budget)
	reserve := reserveOf(budget)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	s.c.state.to(Exiting)
	s.breaker.stop()

	for _, head := range s.bus.leave(s) {
		s.giveBackWaiting(head)
	}
	s.giveBackHeld()
	s.giveBackAside()

	drain, cancelDrain := context.WithDeadline(ctx, end.Add(-reserve))
	s.untilQuiet(drain)
	cancelDrain()
	if s.running.Load() > 0 {
		s.keeper.interruptAll(ErrShutdown)
		grace, cancelGrace := context.WithDeadline(ctx, end.Add(-reserve/2))
		s.untilQuiet(grace)
		cancelGrace()
		s.surrender()
	}
	polled := waitFor(ctx, p.wg.Wait) // what an open poll still brings is given back by accept
	s.giveBackHeld()
	s.giveBackAside()
	s.settler.Close(ctx)
	s.logDiscarded(time.Now().Add(discardEvery)) // the rest of the sums, which wait for their minute
	s.keeper.close()
	s.pace.looks.Wait()
	if polled && s.running.Load() == 0 { // else a poll or a handler still holds its part
		s.audit()
	}
	if !polled {
		s.c.log.Warn("a poll was still open when the time for the stop was over: messages that it brings come again when "+
			"their lease ends; a shorter WaitTime prevents that", "ShutdownTimeout", budget, "WaitTime", s.c.o.WaitTime)
	}
	return s.recv.Close(ctx)
}

// untilQuiet waits until no handler runs, or ctx ends.
func (s *session) untilQuiet(ctx context.Context) {
	for s.running.Load() > 0 {
		select {
		case <-s.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// surrender gives back what handlers that do not return hold, and counts on nobody to wait for them.
func (s *session) surrender() {
	for _, d := range s.keeper.remaining() {
		w := s.keeper.workerOf(d)
		if d.phase.Load() == phaseRunning {
			s.unstartBehind(d)
		}
		if d.claim() {
			s.giveBack(d)
		}
		if w != nil {
			s.pool.replace(w)
		}
	}
}

// waitFor waits for f to return, or for ctx to end, and says which it was.
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
