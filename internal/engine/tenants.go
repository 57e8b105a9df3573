package engine

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Surplus of a tenant stays away until about half of what waits for its share here has started, so that it comes once
// and the share never idles: at least minTenantPause, since services count in seconds; at most maxTenantPause, since
// other consumers may come to help, and after a stop nobody can have it earlier.
const (
	minTenantPause = time.Second
	maxTenantPause = 2 * time.Minute
	// tenantBunch is how many of a tenant's surplus come back together: one by one each would cost a poll of its own.
	tenantBunch = 10
)

// tenants lets no tenant of a channel without order take more handlers than its share. What comes beyond the share
// waits aside: on the shelf as much as starts soon, and in places, where the service could keep it, only as much as the
// share again, so that one tenant cannot fill them. The rest goes back for a while. Guarded by the fleet's lock.
type tenants struct {
	places *places
	share  int           // items of one tenant that are runnable or run
	aside  int           // that wait in places for one of the share; negative: any number
	soon   time.Duration // what waits on the shelf starts within it; longer waits cost more renewals than receives

	waiting atomic.Int64 // items of all tenants, aside; also read without the lock
	out     int          // items of all tenants that have a part of their share
	by      map[string]*tenant
	gap     time.Duration // of the last tenant that had one: the first guess for the next
}

// tenant is one of them, for as long as it has something here.
type tenant struct {
	out        int   // runnable or running
	head, tail *Item // waiting aside
	waiting    int
	shelved    int           // of those that wait
	shelf      int64         // their bytes
	gap        time.Duration // between two that end, smoothed; 0: unknown
	last       time.Time     // when one ended, or the first began
	back       time.Time     // when the newest of its surplus comes again
}

// admission is where an item goes.
type admission uint8

const (
	admitted    admission = iota // it may run
	waits                        // it waits for one of its tenant to end, in a place
	waitsBeside                  // it does so on the shelf
	surplus                      // it goes back, and comes again after a pause
)

func newTenants(share int, p *places, lim *driver.ReceiveLimits) *tenants {
	if share == 0 {
		return nil
	}
	t := &tenants{places: p, share: share, aside: -1, by: map[string]*tenant{}}
	if !lim.Keeps && lim.RetryMax > 0 {
		t.aside = max(0, min(share, lim.Window/2-share))
		t.soon = max(lim.Lease/2, 2*minTenantPause) // a lease is not renewed earlier
	}
	return t
}

// admit says where an item goes, and if it is surplus, after which pause it may come again. An item that must be kept
// is never surplus: it was held here already, or the service is about to dead-letter it.
func (t *tenants) admit(it *Item, must bool) (admission, time.Duration) {
	if t == nil || it.can&hasShare == 0 {
		return admitted, 0
	}
	one := t.by[it.Tenant]
	if one == nil || one.out < t.share {
		return admitted, 0
	}
	now := time.Now()
	switch {
	case t.aside < 0:
		return waits, 0
	case t.fits(one, it, now):
		return waitsBeside, 0
	case one.waiting-one.shelved >= t.aside && !must:
		return surplus, t.pause(one, now)
	}
	return waits, 0
}

// fits says whether an item should wait on the shelf: it starts soon, and its tenant leaves as much of the shelf to
// others as it takes.
func (t *tenants) fits(one *tenant, it *Item, now time.Time) bool {
	return time.Duration(one.waiting)*t.every(one, now) <= t.soon && t.places.shelfBeside(one.shelved, one.shelf, it.size)
}

// every is the time after which one more of a tenant ends.
func (t *tenants) every(one *tenant, now time.Time) time.Duration {
	return max(one.gap, now.Sub(one.last)/time.Duration(t.share))
}

// pause is how long surplus stays away: it gets in line behind what is away, and comes in bunches, rather early than
// late.
func (t *tenants) pause(one *tenant, now time.Time) time.Duration {
	every := t.every(one, now)
	soonest := now.Add(time.Duration(one.waiting) * every / 2)
	if one.back.Before(soonest) {
		one.back = soonest
	}
	back := one.back.Add(every)
	if back.Sub(now) > maxTenantPause { // the line is long: somewhere in its last part
		back = now.Add(maxTenantPause/2 + rand.N(maxTenantPause/2))
	} else {
		one.back = back
	}
	bunch := min(max(tenantBunch*every, time.Second), t.soon/2)
	return max(back.Truncate(bunch).Sub(now), minTenantPause)
}

// begin gives an item one of its tenant's share.
func (t *tenants) begin(it *Item) {
	one := t.by[it.Tenant]
	if one == nil {
		one = &tenant{gap: t.gap, last: time.Now()}
		t.by[it.Tenant] = one
	}
	one.out++
	t.out++
}

// end takes that back, and returns the tenant.
func (t *tenants) end(it *Item) *tenant {
	const weight = 32 // of what is known against what is new: those that began together end together
	one, now := t.by[it.Tenant], time.Now()
	gap := now.Sub(one.last)
	if one.gap == 0 {
		one.gap = gap / time.Duration(t.share)
	}
	one.gap += (gap - one.gap) / weight
	t.gap, one.last = one.gap, now
	one.out--
	t.out--
	t.tidy(it.Tenant, one)
	return one
}

// tidy forgets a tenant that has nothing here.
func (t *tenants) tidy(name string, one *tenant) {
	if one.out == 0 && one.head == nil {
		delete(t.by, name)
	}
}

// wait puts an item into its tenant's line, which exists: its share is taken.
func (t *tenants) wait(it *Item) {
	one := t.by[it.Tenant]
	if it.linePrev = one.tail; one.tail == nil {
		one.head = it
	} else {
		one.tail.lineNext = it
	}
	one.tail = it
	one.waiting++
	t.waiting.Add(1)
	if it.held&hasShelf != 0 {
		t.beside(it)
	}
}

// beside notes that an item of the line stands on the shelf.
func (t *tenants) beside(it *Item) {
	one := t.by[it.Tenant]
	one.shelved, one.shelf = one.shelved+1, one.shelf+it.size
}

// unwait takes an item out of its tenant's line; shelved says whether it stood on the shelf.
func (t *tenants) unwait(it *Item, shelved bool) {
	one := t.by[it.Tenant]
	if it.linePrev == nil {
		one.head = it.lineNext
	} else {
		it.linePrev.lineNext = it.lineNext
	}
	if it.lineNext == nil {
		one.tail = it.linePrev
	} else {
		it.lineNext.linePrev = it.linePrev
	}
	it.linePrev, it.lineNext = nil, nil
	one.waiting--
	t.waiting.Add(-1)
	if shelved {
		one.shelved, one.shelf = one.shelved-1, one.shelf-it.size
	}
	t.tidy(it.Tenant, one)
}

// heir is who goes on next with a tenant's share; nil: nobody, or the share is taken.
func (t *tenants) heir(one *tenant) *Item {
	if one.out >= t.share {
		return nil
	}
	return one.head
}

// crowded says whether items wait for their tenant's share. It needs no lock.
func (t *tenants) crowded() bool { return t != nil && t.waiting.Load() > 0 }
