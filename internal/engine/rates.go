package engine

import "time"

// Rate is how many items may start in a while. The zero value is no limit.
type Rate struct {
	Every time.Duration // one more may start
	Burst int           // that may start at once after a quiet time; at least one
}

func (r Rate) limits() bool { return r.Every > 0 }

// bucket has a token for each start that a rate allows. Guarded by the fleet's lock.
type bucket struct {
	Rate
	empty moment // when it had its last token; it has had one more each Every since then, and never more than Burst
	out   int    // tokens of polls under way: there is no room for others in their place
}

// tokens is how many there are.
func (b *bucket) tokens(now moment) int {
	b.empty = max(b.empty, now-moment(time.Duration(b.Burst-b.out)*b.Every))
	return max(0, int(now.since(b.empty)/b.Every))
}

// has says whether there are n.
func (b *bucket) has(n int, now moment) bool { return !b.limits() || b.tokens(now) >= n }

// lend gives a poll n tokens, which there are.
func (b *bucket) lend(n int) {
	if b.limits() {
		b.empty += moment(time.Duration(n) * b.Every)
		b.out += n
	}
}

// giveBack ends a poll that was lent n tokens, and has used some of them.
func (b *bucket) giveBack(n, used int) {
	if b.out < n { // lent before the rate was changed
		return
	}
	b.out -= n
	b.empty -= moment(time.Duration(n-used) * b.Every)
}

// slot takes a token, if only a later one, and says when there is one.
func (b *bucket) slot(now moment) moment {
	if !b.limits() {
		return now
	}
	b.tokens(now)
	b.empty += moment(b.Every)
	return max(now, b.empty)
}

// change goes on with another rate.
func (b *bucket) change(r Rate, now moment) { *b = bucket{Rate: r, empty: now} }

// rateWait is for how long a poll waits at most for more tokens than one: longer would save few requests.
const rateWait = 500 * time.Millisecond

// next is how many of so many items a poll may ask for now; 0: none, before the wait is over.
func (b *bucket) next(most int, now moment) (n int, wait time.Duration) {
	if !b.limits() {
		return most, 0
	}
	enough := max(1, min(most, b.Burst-b.out, int(rateWait/b.Every)))
	if n = b.tokens(now); n >= enough {
		return min(n, most), 0
	}
	return 0, b.empty.since(now) + time.Duration(enough)*b.Every
}

// rates let no more items start than a rate allows, of a session and of each tenant. A poll asks for no more than may
// start, so an item waits here only for its tenant's rate, or when it starts again. Guarded by the fleet's lock.
type rates struct {
	all     bucket
	tenant  Rate
	by      map[string]*tenantRate
	tidyAt  int           // so many tenants
	changed chan struct{} // holds one
}

// tenantRate is what is known of a tenant's rate.
type tenantRate struct {
	bucket
	back moment // when the newest of its surplus comes again
}

// tidyTenants is at how many tenants those are forgotten first that have had nothing to do.
const tidyTenants = 1000

func newRates(all, tenant Rate, now moment) rates {
	r := rates{by: map[string]*tenantRate{}, tidyAt: tidyTenants, changed: make(chan struct{}, 1), tenant: tenant}
	r.all.change(all, now-moment(time.Duration(all.Burst)*all.Every))
	return r
}

func (r *rates) limit() bool { return r.all.limits() || r.tenant.limits() }

// slot is when an item may start. It has its tokens then, until it has started.
func (r *rates) slot(it *Item, now moment) moment {
	at := now
	if !it.counted {
		at = r.all.slot(now)
		it.counted = true
	}
	if r.tenant.limits() && it.Tenant != "" && !it.tenantCounted {
		at = max(at, r.of(it.Tenant, now).slot(now))
		it.tenantCounted = true
	}
	return at
}

// of is the rate of a tenant.
func (r *rates) of(name string, now moment) *tenantRate {
	one := r.by[name]
	if one == nil {
		r.tidy(now)
		one = &tenantRate{bucket: bucket{Rate: r.tenant}}
		r.by[name] = one
	}
	return one
}

// tidy forgets tenants that might start as many as any other.
func (r *rates) tidy(now moment) {
	if len(r.by) < r.tidyAt {
		return
	}
	for name, one := range r.by {
		if one.tokens(now) >= one.Burst && one.back <= now {
			delete(r.by, name)
		}
	}
	r.tidyAt = max(tidyTenants, 2*len(r.by))
}

// later takes an item's token for its tenant back, and says after which pause it may come again: behind what is away
// already.
func (r *rates) later(it *Item, now moment) time.Duration {
	one := r.of(it.Tenant, now)
	if it.tenantCounted {
		one.empty -= moment(one.Every)
		it.tenantCounted = false
	}
	one.back = max(one.back, one.empty, now).plus(one.Every)
	return min(max(one.back.since(now), minTenantPause), maxTenantPause)
}

// change goes on with other rates.
func (r *rates) change(all, tenant Rate, now moment) {
	r.all.change(all, now)
	r.tenant = tenant
	clear(r.by)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
