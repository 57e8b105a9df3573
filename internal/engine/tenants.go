package engine

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The items of a tenant above its share are released until about half of those that wait here have started, so that
// each is received again only once, and the share is never idle. The delay is at least minTenantPause, because services
// count in seconds, and at most maxTenantPause, because other consumers may start meanwhile, and after a stop no other
// consumer can get them earlier.
const (
	minTenantPause = time.Second
	maxTenantPause = 2 * time.Minute
	// tenantBunch is how many released items of a tenant are delivered again together; one by one, each would cost a
	// poll.
	tenantBunch = 10
)

// tenants limits each tenant of a channel without order to its share of the handlers. Items above the share wait aside:
// on the shelf, those that start soon; in places, if the service could keep them, only as many as the share again, so
// that one tenant cannot fill the places. The rest is released with a delay. Guarded by the fleet's lock.
type tenants struct {
	places *places
	share  int           // items of one tenant that can start or run
	aside  int           // items of one tenant that may wait in places; negative: any number
	soon   time.Duration // items on the shelf start within it; longer waits cost more renewals than receives

	waiting atomic.Int64 // items of all tenants that wait aside; also read without the lock
	out     int          // items of all tenants that have a part of their share
	by      map[string]*tenant
	gap     time.Duration // of the last tenant that had one: the first estimate for the next
}

// tenant is the state of one tenant while it has items here.
type tenant struct {
	out        int   // items that can start or run
	head, tail *Item // those that wait aside
	waiting    int
	shelved    int           // of the waiting items
	shelf      int64         // their bytes
	gap        time.Duration // between two ends, a moving average; 0: unknown
	last       time.Time     // when an item last ended, or the first began
	back       time.Time     // when the last released item is delivered again
}

// admission is the decision about an item.
type admission uint8

const (
	admitted    admission = iota // it can start
	waits                        // it waits in a place for one of its tenant to end
	waitsBeside                  // it waits on the shelf
	surplus                      // it is released with a delay
)

func newTenants(share int, p *places, lim *driver.ReceiveLimits) *tenants {
	if share == 0 {
		return nil
	}
	t := &tenants{places: p, share: share, aside: -1, by: map[string]*tenant{}}
	if !lim.Keeps && lim.RetryMax > 0 {
		t.aside = max(0, min(share, lim.Window/2-share))
		t.soon = max(lim.Lease/2, 2*minTenantPause) // no lease is renewed earlier
	}
	return t
}

// admit decides about an item, and returns the delay if it is surplus. An item that must be kept is never surplus: it
// was held here already, or the service is about to move it to the dead letters.
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

// fits reports whether an item should wait on the shelf: it starts soon, and its tenant uses at most as much of the
// shelf as it leaves to others.
func (t *tenants) fits(one *tenant, it *Item, now time.Time) bool {
	return time.Duration(one.waiting)*t.every(one, now) <= t.soon &&
		t.places.shelfBeside(one.shelved, one.shelf, it.size)
}

// every is the time between two ends of a tenant's items.
func (t *tenants) every(one *tenant, now time.Time) time.Duration {
	return max(one.gap, now.Sub(one.last)/time.Duration(t.share))
}

// pause is how long a surplus item is released: until after those that are released already, several together, and
// rather too short than too long.
func (t *tenants) pause(one *tenant, now time.Time) time.Duration {
	every := t.every(one, now)
	soonest := now.Add(time.Duration(one.waiting) * every / 2)
	if one.back.Before(soonest) {
		one.back = soonest
	}
	back := one.back.Add(every)
	if back.Sub(now) > maxTenantPause { // there are many: at a random time in the second half
		back = now.Add(maxTenantPause/2 + rand.N(maxTenantPause/2))
	} else {
		one.back = back
	}
	bunch := min(max(tenantBunch*every, time.Second), t.soon/2)
	return max(back.Truncate(bunch).Sub(now), minTenantPause)
}

// begin gives an item a part of its tenant's share.
func (t *tenants) begin(it *Item) {
	one := t.by[it.Tenant]
	if one == nil {
		one = &tenant{gap: t.gap, last: time.Now()}
		t.by[it.Tenant] = one
	}
	one.out++
	t.out++
}

// end takes it back, and returns the tenant.
func (t *tenants) end(it *Item) *tenant {
	const weight = 32 // weight of earlier gaps in the moving average: items that began together end together
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

// tidy removes a tenant without items.
func (t *tenants) tidy(name string, one *tenant) {
	if one.out == 0 && one.head == nil {
		delete(t.by, name)
	}
}

// wait adds an item to the line of its tenant, which exists because its share is used.
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

// beside records that an item of the line is on the shelf.
func (t *tenants) beside(it *Item) {
	one := t.by[it.Tenant]
	one.shelved, one.shelf = one.shelved+1, one.shelf+it.size
}

// unwait removes an item from its tenant's line; shelved means that it was on the shelf.
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

// heir is the next item that may use a tenant's share; nil: there is none, or the share is used.
func (t *tenants) heir(one *tenant) *Item {
	if one.out >= t.share {
		return nil
	}
	return one.head
}

// crowded reports whether items wait for their tenant's share. It needs no lock.
func (t *tenants) crowded() bool { return t != nil && t.waiting.Load() > 0 }
