package godwit

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Surplus of a tenant stays away for about as long as what is before it takes, so that it comes by once rather than again
// and again: at least minTenantPause, which nobody waits for in vain, at most maxTenantPause, since other consumers may
// come to help.
const (
	minTenantPause = time.Second
	maxTenantPause = 2 * time.Minute
)

// tenants lets no tenant of a channel without order take more handlers than its share. What comes beyond the share waits
// aside; where the service can keep it, only as much as the share again, so that one tenant cannot fill the places.
type tenants struct {
	share    int   // deliveries of one tenant that are runnable or run
	aside    int   // that wait for one of the share; negative: any number
	received int32 // what was received so often is kept: soon the service itself would dead-letter it

	mu      sync.Mutex
	by      map[string]*tenant
	service time.Duration // what a handler takes, of late; 0: none has ended
}

// tenant is one of them, for as long as it has something here. Guarded by tenants.mu.
type tenant struct {
	out        int       // runnable or running
	head, tail *Delivery // waiting aside, linked by busNext
	waiting    int
	back       time.Time // when the newest of its surplus comes again
}

// Where a delivery goes.
type admission uint8

const (
	admitted admission = iota // it may run
	aside                     // it waits for one of its tenant to end
	surplus                   // it goes back, and comes again after a pause
)

func newTenants(share, places int, lim driver.ReceiveLimits, maxReceives int) *tenants {
	if share == 0 {
		return nil
	}
	t := &tenants{share: share, aside: -1, received: int32(maxReceives - maxReceives/10), by: map[string]*tenant{}}
	if !lim.Keeps && lim.RetryMax > 0 {
		t.aside = max(0, min(share, places/2-share))
	}
	return t
}

// admit takes a delivery in, and says where it goes; for one that is surplus, after which pause it may come again. Of
// what was held here already nothing is surplus.
func (t *tenants) admit(d *Delivery, held bool) (admission, time.Duration) {
	if t == nil || d.lane != 0 || d.Tenant == "" {
		return admitted, 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.by[d.Tenant]
	if one == nil {
		one = &tenant{}
		t.by[d.Tenant] = one
	}
	switch {
	case one.out < t.share:
		one.out++
		d.tenanted = true
		return admitted, 0
	case t.aside >= 0 && one.waiting >= t.aside && !held && d.received < t.received:
		return surplus, t.pause(one, time.Now())
	}
	if one.tail == nil {
		one.head = d
	} else {
		one.tail.busNext = d
	}
	one.tail = d
	one.waiting++
	return aside, 0
}

// pause is how long surplus stays away: it gets in line behind what is away, at twice the pace at which its tenant's
// handlers end, so that they do not wait for it. The caller holds t.mu.
func (t *tenants) pause(one *tenant, now time.Time) time.Duration {
	back := one.back.Add(t.service / time.Duration(2*t.share))
	if soonest := now.Add(minTenantPause); back.Before(soonest) {
		back = soonest
	}
	if wait := back.Sub(now); wait <= maxTenantPause {
		one.back = back
		return wait
	}
	return maxTenantPause/2 + rand.N(maxTenantPause/2) // the line is long: somewhere in its last part
}

// ended takes in how long a handler took.
func (t *tenants) ended(took time.Duration) {
	if t == nil {
		return
	}
	const weight = 8 // of what is known against what is new
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.service == 0 {
		t.service = took
	}
	t.service += (took - t.service) / weight
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
	if next = one.head; next == nil {
		if one.out--; one.out == 0 {
			delete(t.by, d.Tenant)
		}
		return nil
	}
	one.head, next.busNext = next.busNext, nil
	if one.head == nil {
		one.tail = nil
	}
	one.waiting--
	next.tenanted = true
	return next
}

// park takes all that wait aside.
func (t *tenants) park() (ds []*Delivery) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.by {
		for d := one.head; d != nil; {
			next := d.busNext
			d.busNext = nil
			ds = append(ds, d)
			d = next
		}
		one.head, one.tail, one.waiting = nil, nil, 0
	}
	return ds
}

// yield gives the share of a delivery that runs no more, or will not run, to the next of its tenant.
func (s *session) yield(d *Delivery) {
	if next := s.tenants.leave(d); next != nil {
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
