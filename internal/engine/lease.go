package engine

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

const (
	// renewBefore: a lease is renewed when one part in so many of it is left. A third leaves room for several tries.
	renewBefore = 3
	// renewRetry is the wait after a renewal that failed in passing.
	renewRetry = time.Second
	// renewalsAtOnce bounds the renewals under way, so that a slow service does not collect goroutines.
	renewalsAtOnce = 8
)

// LeastLeft is how much of a lease must be left when a poll that waits for a message is answered, so that it can be
// renewed.
func LeastLeft(lease time.Duration) time.Duration { return lease / renewBefore }

// renewAt is when a lease is renewed next, by what was granted and not by what was asked; not sooner than a renewal is
// tried again after a failure, however short the lease is.
func (l *lease) renewAt(now moment) moment {
	granted := l.end().since(now)
	return min(max(l.end().plus(-granted/renewBefore), now.plus(renewRetry)), l.end())
}

// again is when a renewal is tried once more: in a while, and at the latest when the lease ends.
func (l *lease) again(now moment) moment { return min(now.plus(renewRetry), l.end()) }

// keep begins to hold the lease of an item that has just arrived. The caller holds the lock.
func (k *keeper) keep(it *Item, ends time.Time, now moment) {
	if k.extend == nil || ends.IsZero() {
		return
	}
	it.lease.since = now
	it.lease.set(k.f.clock.of(ends))
	k.watch(it, it.lease.end().plus(-k.length/renewBefore))
}

// watch puts a lease on the timeline. The caller holds the lock.
func (k *keeper) watch(it *Item, renewAt moment) {
	k.f.leases.insert(it, renewAt)
	k.due(renewAt)
}

// renewDue sends the leases that are due on their way, in batches filled with those that would be due soon anyway, and
// loses the items whose lease has ended. The caller holds the lock.
func (k *keeper) renewDue(now moment) {
	leases := &k.f.leases
	var ended []*Item
	var rest []*Item  // to be watched until their lease ends: it is being renewed, or lasts as long as it may
	var later []*Item // to be tried again
	for {
		var batch, others []*Item
		full := k.renewing >= renewalsAtOnce
		answered := make(chan struct{})
		by, soon := k.length, now
		for len(batch) < k.batch {
			it := leases.pop(soon)
			if it == nil {
				break
			}
			left := k.renewable(it, now)
			switch { // a lease near its total has a call of its own: it would shorten those of the others
			case it.lease.end() <= now:
				ended = append(ended, it)
			case left == 0, it.lease.going, it.lease.renewing != nil:
				rest = append(rest, it)
			case full:
				later = append(later, it)
			case len(batch) > 0 && left != by:
				others = append(others, it)
			default:
				it.lease.renewing = answered
				k.f.ledger.note(it, hasRenew, true)
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
		leases.insert(it, it.lease.end())
	}
	for _, it := range later {
		leases.insert(it, it.lease.again(now))
	}
	k.f.lose(ended...)
}

// renewable is how long a lease may still be made to last from now; 0: not longer than it lasts anyway.
func (k *keeper) renewable(it *Item, now moment) time.Duration {
	left := k.length
	if k.total > 0 {
		left = min(left, it.lease.since.plus(k.total).since(now).Truncate(time.Second))
	}
	if now.plus(left) <= it.lease.end() {
		return 0
	}
	return left
}

// renew makes one call to the service and puts the items back under watch.
func (k *keeper) renew(batch []*Item, by time.Duration) {
	hs := make([]driver.Handle, len(batch))
	for i, it := range batch {
		hs[i] = it.handle
	}
	// A renewal that takes longer than what is left of the leases is of no use.
	ctx, cancel := context.WithTimeout(context.Background(), k.length/renewBefore)
	k.f.cfg.Calls.Begin(calls.Renew, 1)
	ends, err := k.extend.Extend(ctx, hs, by)
	k.f.cfg.Calls.End(calls.Renew, calls.StallOf(err, len(hs)))
	cancel()
	k.f.lock()
	k.renewed(batch, ends, err)
	k.f.unlock()
}

// renewed takes a renewal's answer in. The caller holds the lock.
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
		if it.held&hasLease != 0 && !it.lost.Load() { // else it ended meanwhile
			if k.answered(it, ends, failed, now) {
				lost = append(lost, it)
			}
		}
	}
	k.f.lose(lost...)
	for _, it := range batch {
		k.f.ledger.note(it, hasRenew, false)
	}
	k.due(k.f.leases.first())
}

// answered goes by the answer about one lease. Where a verdict was faster than the renewal, which then found nothing,
// the verdict's own answer counts.
func (k *keeper) answered(it *Item, ends time.Time, failed error, now moment) (lost bool) {
	switch {
	case errors.Is(failed, driver.ErrLost):
		return !it.told.Load()
	case failed == nil:
		k.f.leases.remove(it)
		it.lease.set(k.f.clock.of(ends))
		k.watch(it, it.lease.renewAt(now))
	default:
		k.f.leases.remove(it)
		k.watch(it, it.lease.again(now))
	}
	return false
}

// letGo begins to send an item back to the service: it waits for a renewal that is under way, and lets none begin.
func (k *keeper) letGo(ctx context.Context, it *Item) {
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

// goOnRenewing takes a letGo back that has failed: the lease is needed until the next try.
func (k *keeper) goOnRenewing(it *Item) {
	k.f.lock()
	defer k.f.unlock()
	if !it.lease.going || it.held&hasLease == 0 || it.lost.Load() {
		return
	}
	it.lease.going = false
	if it.lease.linked {
		k.f.leases.remove(it)
		k.watch(it, it.lease.renewAt(k.f.clock.now()))
	}
}
