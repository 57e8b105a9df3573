package godwit

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Surplus of a tenant stays away until about half of what waits for its share here has started, so that it comes once
// and the share never idles: at least minTenantPause, since services count in seconds, at most maxTenantPause, since
// other consumers may come to help, and after a stop nobody can have it earlier.
const (
	minTenantPause = time.Second
	maxTenantPause = 2 * time.Minute
	// tenantBunch is how many of a tenant's surplus come back together: one by one each would cost a poll of its own.
	tenantBunch = 10
)

// tenants lets no tenant of a channel without order take more handlers than its share. What comes beyond the share
// waits aside: on the shelf as much as starts soon, and in places, where the service could keep it, only as much as the
// share again, so that one tenant cannot fill them. The rest goes back for a while.
type tenants struct {
	places *places
	share  int           // deliveries of one tenant that are runnable or run
	aside  int           // that wait in places for one of the share; negative: any number
	soon   time.Duration // what waits on the shelf starts within it; longer waits cost more renewals than receives

	waiting atomic.Int64 // deliveries of all tenants, aside

	mu  sync.Mutex
	by  map[string]*tenant
	gap time.Duration // of the last tenant that had one: the first guess for the next
}

// tenant is one of them, for as long as it has something here. Guarded by tenants.mu.
type tenant struct {
	out        int       // runnable or running
	head, tail *Delivery // waiting aside, linked by busNext
	waiting    int
	shelved    int           // of those that wait
	shelf      int64         // their bytes
	gap        time.Duration // between two that end, smoothed; 0: unknown
	last       time.Time     // when one ended, or the first began
	back       time.Time     // when the newest of its surplus comes again
}

// Where a delivery goes.
type admission uint8

const (
	admitted admission = iota // it may run
	aside                     // it waits for one of its tenant to end
	surplus                   // it goes back, and comes again after a pause
)

func newTenants(share int, p *places, lim driver.ReceiveLimits) *tenants {
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

// admit takes a delivery in, and says where it goes; for one that is surplus, after which pause it may come again.
// Nothing that is kept is surplus: it was held here already, or the service is about to dead-letter it.
func (t *tenants) admit(d *Delivery, kept bool) (admission, time.Duration) {
	if t == nil || d.lane != 0 || d.Tenant == "" {
		return admitted, 0
	}
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.by[d.Tenant]
	if one == nil {
		one = &tenant{gap: t.gap, last: now}
		t.by[d.Tenant] = one
	}
	if one.out < t.share {
		one.out++
		d.tenanted = true
		return admitted, 0
	}
	if t.aside >= 0 && !t.shelve(one, d, now) && one.waiting-one.shelved >= t.aside && !kept {
		return surplus, t.pause(one, now)
	}
	if one.tail == nil {
		one.head = d
	} else {
		one.tail.busNext = d
	}
	one.tail = d
	one.waiting++
	t.waiting.Add(1)
	return aside, 0
}

// shelve moves a delivery that is about to wait to the shelf, if it starts soon and its tenant leaves as much of the
// shelf to others as it takes. The caller holds t.mu.
func (t *tenants) shelve(one *tenant, d *Delivery, now time.Time) bool {
	if time.Duration(one.waiting)*t.every(one, now) > t.soon || !t.places.shelveBeside(one.shelved, one.shelf, d.size) {
		return false
	}
	d.shelved = true
	one.shelved, one.shelf = one.shelved+1, one.shelf+d.size
	return true
}

// every is the time after which one more of a tenant ends. The caller holds t.mu.
func (t *tenants) every(one *tenant, now time.Time) time.Duration {
	return max(one.gap, now.Sub(one.last)/time.Duration(t.share))
}

// pause is how long surplus stays away: it gets in line behind what is away, and comes in bunches, rather early than
// late. The caller holds t.mu.
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

// leave gives the share of a delivery back, if it has one, and returns who takes it over.
func (t *tenants) leave(d *Delivery) (next *Delivery) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.tenanted {
		return nil
	}
	d.tenanted = false
	one := t.by[d.Tenant]
	t.ended(one, time.Now())
	if next = t.first(one); next == nil {
		if one.out--; one.out == 0 {
			delete(t.by, d.Tenant)
		}
		return nil
	}
	next.tenanted = true
	return next
}

// ended takes in that one of a tenant has ended. The caller holds t.mu.
func (t *tenants) ended(one *tenant, now time.Time) {
	const weight = 32 // of what is known against what is new: those that began together end together
	gap := now.Sub(one.last)
	if one.gap == 0 {
		one.gap = gap / time.Duration(t.share)
	}
	one.gap += (gap - one.gap) / weight
	t.gap, one.last = one.gap, now
}

// first takes the first that waits aside, or nil. The caller holds t.mu.
func (t *tenants) first(one *tenant) *Delivery {
	d := one.head
	if d == nil {
		return nil
	}
	if one.head, d.busNext = d.busNext, nil; one.head == nil {
		one.tail = nil
	}
	one.waiting--
	t.waiting.Add(-1)
	if d.shelved {
		one.shelved, one.shelf = one.shelved-1, one.shelf-d.size
	}
	return d
}

// crowded says whether deliveries wait for their tenant's share.
func (t *tenants) crowded() bool { return t != nil && t.waiting.Load() > 0 }

// park takes all that wait aside.
func (t *tenants) park() (ds []*Delivery) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.by {
		for d := t.first(one); d != nil; d = t.first(one) {
			ds = append(ds, d)
		}
	}
	return ds
}

// yield gives the share of a delivery that runs no more, or will not run, to the next of its tenant.
func (s *session) yield(d *Delivery) {
	if next := s.tenants.leave(d); next != nil {
		s.offShelf(next)
		s.offer(next)
	}
}

// sendAway gives a delivery back that never started, for a while.
func (s *session) sendAway(d *Delivery, pause time.Duration) {
	if !d.src.begin() {
		s.forget(d)
		return
	}
	d.phase.Store(phaseSettled)
	s.tellAway(d, pause)
}
