package godwit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// renewBefore: a lease is renewed when one part in so many of it is left. A third leaves room for several tries.
	renewBefore = 3
	// renewRetry is the wait after a renewal that failed in passing.
	renewRetry = time.Second
	// renewalsAtOnce bounds the renewals under way, so that a slow service does not collect goroutines.
	renewalsAtOnce = 8
)

// lease is what the keeper knows of a delivery's lease. Guarded by keeper.mu.
type lease struct {
	d        *Delivery
	since    moment
	ends     atomic.Int64  // a moment; written under keeper.mu, read at a start
	renewing chan struct{} // of a call under way, closed with its answer; the tick is now when the lease ends without
	going    bool          // a verdict that lets go of it is on the wire: a renewal that came later would hide the message again
	over     bool          // settled or dropped: do not watch it again
	place                  // on the timeline
}

// keepAll begins to hold the leases of what a poll brought.
func (k *keeper) keepAll(ds []*Delivery, in []driver.Delivery) {
	if k.extend == nil {
		return
	}
	leases := make([]lease, len(ds))
	now := k.s.clock.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range ds {
		l := &leases[i]
		l.d, ds[i].lease = ds[i], l
		if ends := in[i].LeaseEnds; !ends.IsZero() {
			l.since = now
			l.set(k.s.clock.of(ends))
			k.watch(l, l.end().plus(-k.length/renewBefore))
		}
	}
}

// forgetAll is forget for those that were settled together.
func (k *keeper) forgetAll(vs []verdict) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range vs {
		k.unwatch(vs[i].d)
	}
}

// watch puts a lease on the timeline. The caller holds k.mu.
func (k *keeper) watch(l *lease, renewAt moment) {
	k.leases.insert(l, renewAt)
	k.due(renewAt)
}

// forget ends the holding: the delivery is settled, or dropped.
func (k *keeper) forget(d *Delivery) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unwatch(d)
}

// unwatch takes a lease off the timeline for good. The caller holds k.mu.
func (k *keeper) unwatch(d *Delivery) {
	d.lease.over = true
	k.leases.remove(d.lease)
}

// renewDue sends the leases that are due on their way, in batches filled with those that would be due soon anyway, and
// returns the deliveries whose lease has ended. The caller holds k.mu.
func (k *keeper) renewDue(now moment) (lost []*Delivery) {
	var rest []*Delivery // to be watched until their lease ends: it is being renewed, or lasts as long as it may
	var later []*Delivery
	for {
		var batch, others []*Delivery
		full := k.renewing >= renewalsAtOnce
		answered := make(chan struct{})
		by, soon := k.length, now
		for len(batch) < k.batch {
			l := k.leases.pop(soon)
			if l == nil {
				break
			}
			d := l.d
			left := k.renewable(d, now)
			switch { // a lease near its total has a call of its own: it would shorten those of the others
			case d.lease.end() <= now:
				lost = append(lost, d)
			case left == 0, d.lease.going, d.lease.renewing != nil:
				rest = append(rest, d)
			case full:
				later = append(later, d)
			case len(batch) > 0 && left != by:
				others = append(others, d)
			default:
				d.lease.renewing = answered
				by = left
				batch, rest = append(batch, d), append(rest, d)
				soon = now.plus(k.length / renewBefore)
			}
		}
		for _, d := range others {
			k.leases.insert(d.lease, now)
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
	for _, d := range rest {
		k.leases.insert(d.lease, d.lease.end())
	}
	for _, d := range later {
		k.leases.insert(d.lease, d.lease.again(now))
	}
	return lost
}

func (l *lease) set(ends moment) { l.ends.Store(int64(ends)) }
func (l *lease) end() moment     { return moment(l.ends.Load()) }

// renewAt is when a lease is renewed next, by what was granted and not by what was asked; not sooner than a renewal is tried
// again after a failure, however short the lease is.
func (l *lease) renewAt(now moment) moment {
	granted := l.end().since(now)
	return min(max(l.end().plus(-granted/renewBefore), now.plus(renewRetry)), l.end())
}

// leaseOver says whether a delivery's lease has ended by now. Only who has the delivery in hand may ask.
func (d *Delivery) leaseOver(now moment) bool {
	if d.lease == nil {
		return false
	}
	ends := d.lease.end()
	return ends != noMoment && ends <= now
}

// again is when a renewal is tried once more: in a while, and at the latest when the lease ends.
func (l *lease) again(now moment) moment { return min(now.plus(renewRetry), l.end()) }

// renewable is how long a lease may still be made to last from now; 0: not longer than it lasts anyway. The caller
// holds k.mu.
func (k *keeper) renewable(d *Delivery, now moment) time.Duration {
	left := k.length
	if k.total > 0 {
		left = min(left, d.lease.since.plus(k.total).since(now).Truncate(time.Second))
	}
	if now.plus(left) <= d.lease.end() {
		return 0
	}
	return left
}

// renew makes one call to the service and puts the deliveries back under watch.
func (k *keeper) renew(batch []*Delivery, by time.Duration) {
	hs := make([]driver.Handle, len(batch))
	for i, d := range batch {
		hs[i] = d.handle
	}
	// A renewal that takes longer than what is left of the leases is of no use.
	ctx, cancel := context.WithTimeout(context.Background(), k.length/renewBefore)
	k.s.health.calls.begin(stageRenew, 1)
	ends, err := k.extend.Extend(ctx, hs, by)
	k.s.health.calls.end(stageRenew, stallOf(err, len(hs)))
	cancel()
	for _, d := range k.renewed(batch, ends, err) {
		k.s.leaseLost(d)
	}
}

// letGo begins to send a delivery back to the service: it waits for a renewal that is under way, and lets none begin.
func (k *keeper) letGo(ctx context.Context, d *Delivery) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	d.lease.going = true
	answered := d.lease.renewing
	k.mu.Unlock()
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// goOn takes a letGo back that has failed: the lease is needed until the next try.
func (k *keeper) goOn(d *Delivery) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !d.lease.going || d.lease.over || d.lost.Load() {
		return
	}
	d.lease.going = false
	if d.lease.linked {
		k.leases.remove(d.lease)
		k.watch(d.lease, d.lease.renewAt(k.s.clock.now()))
	}
}

// renewed takes a renewal's answer in, and returns what it says is lost.
func (k *keeper) renewed(batch []*Delivery, ends time.Time, err error) (lost []*Delivery) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	now := k.s.clock.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing--
	for i, d := range batch {
		failed := err
		if partial {
			failed = entries.Errs[i]
		}
		d.lease.renewing = nil
		if d.lease.over || d.lost.Load() { // it ended meanwhile
			continue
		}
		k.leases.remove(d.lease)
		switch {
		case failed == nil:
			d.lease.set(k.s.clock.of(ends))
			k.watch(d.lease, d.lease.renewAt(now))
		case errors.Is(failed, driver.ErrLost) && d.told.Load():
			// The verdict was faster than the renewal, which then found nothing: its own answer counts.
		case errors.Is(failed, driver.ErrLost):
			lost = append(lost, d)
		default:
			k.watch(d.lease, d.lease.again(now))
		}
	}
	k.due(k.leases.first())
	return lost
}
