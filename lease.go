package godwit

import (
	"context"
	"errors"
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
	tick
	since, ends time.Time
	renewing    chan struct{} // of a call under way, closed with its answer; the tick is now when the lease ends without
	going       bool          // a verdict that lets go of it is on the wire: a renewal that came later would hide the message again
	over        bool          // settled or dropped: do not watch it again
}

// keepAll begins to hold the leases of what a poll brought.
func (k *keeper) keepAll(ds []Delivery, in []driver.Delivery, now time.Time) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range ds {
		if ends := in[i].LeaseEnds; !ends.IsZero() {
			ds[i].lease.since, ds[i].lease.ends = now, ends
			k.watch(&ds[i], ends.Add(-k.length/renewBefore))
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
func (k *keeper) watch(d *Delivery, renewAt time.Time) {
	k.leases.insert(d, renewAt)
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
	k.leases.remove(d)
}

// renewDue sends the leases that are due on their way, in batches filled with those that would be due soon anyway, and
// returns the deliveries whose lease has ended. The caller holds k.mu.
func (k *keeper) renewDue(now time.Time) (lost []*Delivery) {
	var rest []*Delivery // to be watched until their lease ends: it is being renewed, or lasts as long as it may
	var later []*Delivery
	for {
		var batch []*Delivery
		full := k.renewing >= renewalsAtOnce
		answered := make(chan struct{})
		by, soon := k.length, now
		for len(batch) < k.batch {
			d := k.leases.pop(soon)
			if d == nil {
				break
			}
			left := k.renewable(d, now)
			switch {
			case !d.lease.ends.After(now):
				lost = append(lost, d)
			case left == 0, d.lease.going, d.lease.renewing != nil:
				rest = append(rest, d)
			case full:
				later = append(later, d)
			default:
				d.lease.renewing = answered
				by = min(by, left)
				batch, rest = append(batch, d), append(rest, d)
				soon = now.Add(k.length / renewBefore)
			}
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
		k.leases.insert(d, d.lease.ends)
	}
	for _, d := range later {
		k.leases.insert(d, d.lease.again(now))
	}
	return lost
}

// again is when a renewal is tried once more: in a while, and at the latest when the lease ends.
func (l *lease) again(now time.Time) time.Time {
	at := now.Add(renewRetry)
	if at.After(l.ends) {
		return l.ends
	}
	return at
}

// renewable is how long a lease may still be made to last from now; 0: not longer than it lasts anyway. The caller
// holds k.mu.
func (k *keeper) renewable(d *Delivery, now time.Time) time.Duration {
	left := k.length
	if k.total > 0 {
		left = min(left, d.lease.since.Add(k.total).Sub(now).Truncate(time.Second))
	}
	if !now.Add(left).After(d.lease.ends) {
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
	ends, err := k.extend.Extend(ctx, hs, by)
	cancel()
	for _, d := range k.renewed(batch, ends, by, err) {
		k.s.leaseLost(d)
	}
}

// letGo begins to send a delivery back to the service: it waits for a renewal that is under way, and lets none begin.
func (k *keeper) letGo(ctx context.Context, d *Delivery) {
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if !d.lease.going || d.lease.over || d.lost.Load() {
		return
	}
	d.lease.going = false
	if d.lease.linked {
		k.leases.remove(d)
		k.watch(d, d.lease.ends.Add(-k.length/renewBefore))
	}
}

// renewed takes a renewal's answer in, and returns what it says is lost.
func (k *keeper) renewed(batch []*Delivery, ends time.Time, by time.Duration, err error) (lost []*Delivery) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	now := time.Now()
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
		k.leases.remove(d)
		switch {
		case failed == nil:
			d.lease.ends = ends
			k.watch(d, ends.Add(-by/renewBefore))
		case errors.Is(failed, driver.ErrLost) && d.told.Load():
			// The verdict was faster than the renewal, which then found nothing: its own answer counts.
		case errors.Is(failed, driver.ErrLost):
			lost = append(lost, d)
		default:
			k.watch(d, d.lease.again(now))
		}
	}
	if first := k.leases.first(); !first.IsZero() {
		k.due(first)
	}
	return lost
}
