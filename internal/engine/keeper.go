package engine

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// keeper handles everything with a time in a session, with one goroutine and one timer: it renews leases in batches,
// cancels handlers after their timeout, and lets held retries start. Its data is guarded by the fleet's lock.
type keeper struct {
	f      *flow
	runner *runner
	pace   *pacing
	extend driver.Extender // nil: the service has no leases to renew
	length time.Duration
	total  time.Duration
	batch  int
	base   commonContext // parent of handlers' contexts: the values of the session's context, without its cancellation

	kick chan struct{} // has room for one signal: something is due before armed
	stop chan struct{}
	done chan struct{}
	wg   sync.WaitGroup // renewals in flight

	armed    moment // when the timer fires; never: the timer is stopped
	renewing int
	crowded  bool // leases were due while as many renewals were in flight as may be
}

func newKeeper(s *Session, r driver.Receiver, base commonContext) *keeper {
	lim := &s.flow.lim
	k := &keeper{
		f: s.flow, runner: &s.runner, pace: s.pace, length: lim.Lease, total: lim.LeaseTotal, batch: lim.SettleBatch,
		base: base, armed: never,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	k.extend, _ = r.(driver.Extender)
	if k.batch == 0 {
		k.batch = 1000
	}
	return k
}

// due makes sure that the keeper wakes at a time. The caller holds the lock.
func (k *keeper) due(at moment) {
	if at >= k.armed {
		return
	}
	k.armed = at
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// loop is the keeper's goroutine; close ends it.
func (k *keeper) loop() {
	defer close(k.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		now := k.f.clock.now()
		if next := k.fire(now); next == never {
			timer.Stop()
		} else {
			timer.Reset(next.since(now))
		}
		select {
		case <-timer.C:
		case <-k.kick:
		case <-k.stop:
			return
		}
	}
}

// close ends the keeper and waits for its renewals.
func (k *keeper) close() {
	close(k.stop)
	<-k.done
	k.wg.Wait()
}

// fire does what is due now and returns when to wake next; never: at the next signal.
func (k *keeper) fire(now moment) moment {
	f := k.f
	f.lock()
	k.renewDue(now)
	f.stints.splitLate(now)
	stuck := f.stints.overdue(now)
	f.held.due(now)
	var counted *meter
	if f.stints.tickAt <= now {
		counted = k.read(now)
	}
	k.armed = min(f.leases.first(), f.stints.deadline(), f.stints.runUntil, f.stints.tickAt, f.retries.first())
	next := k.armed
	f.unlock()

	if counted != nil {
		k.pace.tick(f.clock.time(now), *counted)
	}
	for _, st := range stuck {
		k.runner.stuck(st)
	}
	return next
}

// read returns what the meter has counted, and sets the next time to read it. The caller holds the lock.
func (k *keeper) read(now moment) *meter {
	st := &k.f.stints
	st.meter.move(now, 0)
	m := st.meter
	st.meter = meter{handlers: m.handlers, last: now}
	st.tickAt = never
	if m.handlers > 0 || k.pace.grown() {
		st.tickAt = now.plus(paceInterval)
	}
	return &m
}
