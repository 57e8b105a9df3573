package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
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

const (
	// renewBefore: a lease is renewed when one part in renewBefore of it is left. A third leaves time for several
	// tries.
	renewBefore = 3
	// dueGrain: times of renewals are rounded down to one part in dueGrain of a lease, so that the answers of polls
	// that overtake each other have the same time.
	dueGrain = 600
	// renewRetry is the wait after a renewal with a temporary error.
	renewRetry = time.Second
	// renewalsAtOnce bounds the renewals in flight, so that a slow service does not accumulate goroutines.
	renewalsAtOnce = 8
)

// LeastLeft is how much of a lease must be left when a poll is answered, so that the lease can be renewed.
func LeastLeft(lease time.Duration) time.Duration { return lease / renewBefore }

// renewAt is the time of the next renewal. It depends on the lease that was granted, not on the one requested. It is
// not earlier than a retry after a failure would be, however short the lease is.
func (l *lease) renewAt(now moment) moment {
	granted := l.ends.since(now)
	return min(max(l.ends.plus(-granted/renewBefore), now.plus(renewRetry)), l.ends)
}

// again is the time of a renewal's retry: after renewRetry, and at the latest when the lease ends.
func (l *lease) again(now moment) moment { return min(now.plus(renewRetry), l.ends) }

// keep begins to renew the lease of an item that has just arrived. The caller holds the lock.
func (k *keeper) keep(it *Item, ends time.Time, now moment) {
	if k.extend == nil || ends.IsZero() {
		return
	}
	it.lease.since, it.lease.ends = now, k.f.clock.of(ends)
	renewAt := it.lease.ends.plus(-k.length / renewBefore)
	k.watch(it, renewAt-renewAt%moment(max(k.length/dueGrain, 1)))
}

// watch adds a lease to the timeline. The caller holds the lock.
func (k *keeper) watch(it *Item, renewAt moment) {
	k.f.leases.insert(it, renewAt)
	k.due(renewAt)
}

// renewDue starts the renewals that are due, in batches filled with those that would be due soon, and marks the items
// whose leases have ended. The caller holds the lock.
func (k *keeper) renewDue(now moment) {
	leases := &k.f.leases
	k.f.places.ahead.calm(now)
	var ended []*Item
	var rest []*Item  // watched until their leases end: they are being renewed, or cannot be extended
	var later []*Item // to be tried again
	for {
		var batch, others []*Item
		full := k.renewing >= renewalsAtOnce
		answered := make(chan struct{})
		by, soon := k.length, now
		if k.crowded { // those that had to wait for the end of another renewal
			soon = now.plus(renewRetry)
		}
		for len(batch) < k.batch {
			it := leases.pop(soon)
			if it == nil {
				break
			}
			left := k.renewable(it, now)
			// A lease near its total has a call of its own, because it would shorten the others.
			switch {
			case it.lease.ends <= now:
				ended = append(ended, it)
			case left == 0, it.lease.going, it.lease.renewing != nil:
				rest = append(rest, it)
			case k.spare(it):
				rest = append(rest, it)
				k.f.thenSettle(it, driver.Release, 0)
			case full:
				later = append(later, it)
			case len(batch) > 0 && left != by:
				others = append(others, it)
			default:
				it.lease.renewing = answered
				k.f.take(it, hasRenew)
				by = left
				batch, rest = append(batch, it), append(rest, it)
				soon = now.plus(k.length / renewBefore)
			}
		}
		for _, it := range others {
			leases.insert(it, now)
		}
		if len(batch) == 0 {
			break
		}
		k.renewing++
		k.wg.Go(func() {
			defer close(answered)
			k.renew(batch, by)
		})
	}
	for _, it := range rest {
		leases.insert(it, it.lease.ends)
	}
	k.crowded = len(later) > 0
	for _, it := range later {
		leases.insert(it, it.lease.again(now))
	}
	k.f.lose(ended...)
}

// spare reports whether a waiting item should be released instead of renewed, because more items are held than the
// handlers need now.
func (k *keeper) spare(it *Item) bool {
	return k.f.places.tooMany() && (it.state == queued || it.state == behind) && !it.laneNearLimit()
}

// renewable is how long a lease may last from now; 0: no longer than it lasts anyway.
func (k *keeper) renewable(it *Item, now moment) time.Duration {
	left := k.length
	if k.total > 0 {
		left = min(left, it.lease.since.plus(k.total).since(now).Truncate(time.Second))
	}
	if now.plus(left) <= it.lease.ends {
		return 0
	}
	return left
}

// renew makes one call to the service and watches the items again.
func (k *keeper) renew(batch []*Item, by time.Duration) {
	hs := make([]driver.Handle, len(batch))
	for i, it := range batch {
		hs[i] = it.handle
	}
	// A renewal that takes longer than the rest of the leases is useless.
	ctx, cancel := context.WithTimeout(context.Background(), k.length/renewBefore)
	k.f.cfg.Calls.Begin(calls.Renew, 1)
	began := time.Now()
	ends, err := k.extend.Extend(ctx, hs, by)
	k.f.cfg.Calls.End(calls.Renew, calls.StallOf(err, len(hs)))
	cancel()
	told := Renewal{Leases: len(hs), Failed: failedOf(err, len(hs)), Began: began, Took: time.Since(began), Err: err}
	k.f.lock()
	k.renewed(batch, ends, err)
	k.f.unlock()
	k.f.talk.obs.Renewed(told)
}

// renewed handles a renewal's answer. The caller holds the lock.
func (k *keeper) renewed(batch []*Item, ends time.Time, err error) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	now := k.f.clock.now()
	var lost []*Item
	k.renewing--
	for i, it := range batch {
		failed := err
		if partial {
			failed = entries.Errs[i]
		}
		it.lease.renewing = nil
		if it.held&hasLease != 0 && !it.lost.Load() { // otherwise it ended meanwhile
			if k.answered(it, ends, failed, now) {
				lost = append(lost, it)
			}
		}
	}
	k.f.lose(lost...)
	for _, it := range batch {
		k.f.give(it, hasRenew)
	}
	k.due(k.f.leases.first())
	if k.crowded {
		k.due(now)
	}
}

// answered handles the answer for one lease. If a settlement was faster than the renewal, which then found no lease,
// the answer to the settlement counts.
func (k *keeper) answered(it *Item, ends time.Time, failed error, now moment) (lost bool) {
	switch {
	case errors.Is(failed, driver.ErrLost):
		return !it.told.Load()
	case failed == nil:
		k.f.leases.remove(it)
		it.lease.ends = k.f.clock.of(ends)
		k.watch(it, it.lease.renewAt(now))
	default:
		k.f.leases.remove(it)
		k.watch(it, it.lease.again(now))
	}
	return false
}

// stopRenewing begins to return an item to the service: it waits for a renewal in flight, and prevents further ones.
func (k *keeper) stopRenewing(ctx context.Context, it *Item) {
	k.f.fleet.mu.Lock()
	it.lease.going = true
	answered := it.lease.renewing
	k.f.fleet.mu.Unlock()
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// renewAgain reverses stopRenewing after a failure, because the lease is needed until the next try.
func (k *keeper) renewAgain(it *Item) {
	k.f.lock()
	defer k.f.unlock()
	if !it.lease.going || it.held&hasLease == 0 || it.lost.Load() {
		return
	}
	it.lease.going = false
	if it.lease.entry != nil {
		k.f.leases.remove(it)
		k.watch(it, it.lease.renewAt(k.f.clock.now()))
	}
}
