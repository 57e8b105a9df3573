package engine

import "time"

// Rate is how many items may start in a time. The zero value means no limit.
type Rate struct {
	Every time.Duration // time between two starts
	Burst int           // starts at the same time after a quiet time; at least one
}

func (r Rate) limits() bool { return r.Every > 0 }

// bucket has a token for each start that a rate allows. Guarded by the fleet's lock.
type bucket struct {
	Rate
	empty moment // when the bucket was empty; it has got a token each Every since then, and has at most Burst
	out   int    // tokens of open polls, which still count for Burst
}

// tokens is the number of tokens; negative: as many are taken that come later.
func (b *bucket) tokens(now moment) int {
	b.empty = max(b.empty, now-moment(time.Duration(b.Burst-b.out)*b.Every))
	return int(now.since(b.empty) / b.Every)
}

// ahead is how many tokens polls may have that come later.
func (b *bucket) ahead() int { return max(0, int(rateWait/b.Every)-b.Burst) }

// has reports whether there are n tokens for a poll.
func (b *bucket) has(n int, now moment) bool { return !b.limits() || b.tokens(now)+b.ahead() >= n }

// lend gives n tokens to a poll. There must be as many.
func (b *bucket) lend(n int) {
	if b.limits() {
		b.empty += moment(time.Duration(n) * b.Every)
		b.out += n
	}
}

// repay ends a poll that had n tokens. Each item that it has brought takes one when it may start.
func (b *bucket) repay(n int) {
	if b.out < n { // lent before the rate was changed
		return
	}
	b.out -= n
	b.empty -= moment(time.Duration(n) * b.Every)
}

// slot takes the next token, which may be a later one, and returns its time.
func (b *bucket) slot(now moment) moment {
	if !b.limits() {
		return now
	}
	b.tokens(now)
	b.empty += moment(b.Every)
	return max(now, b.empty)
}

// change sets another rate.
func (b *bucket) change(r Rate, now moment) { *b = bucket{Rate: r, empty: now} }

// rateWait is how long a poll waits at most for more than one token, and how long the items wait that it brings. A
// longer wait would save few requests.
const rateWait = 500 * time.Millisecond

// next is how many messages, at most most, a poll may request now; 0: none until the wait is over.
func (b *bucket) next(most int, now moment) (n int, wait time.Duration) {
	if !b.limits() {
		return most, 0
	}
	ahead := b.ahead()
	enough := max(1, min(most, b.Burst+ahead-b.out, int(rateWait/b.Every)))
	if n = b.tokens(now) + ahead; n >= enough {
		return min(n, most), 0
	}
	return 0, b.empty.since(now) + time.Duration(enough-ahead)*b.Every
}

// rates limits how many items start, of a session and of each tenant. A poll requests no more messages than may start
// soon, so an item waits here for long only for its tenant's rate. Guarded by the fleet's lock.
type rates struct {
	all     bucket
	tenant  Rate
	by      map[string]*tenantRate
	tidyAt  int           // number of tenants at which to tidy
	changed chan struct{} // has room for one signal
}

// tenantRate is the state of a tenant's rate.
type tenantRate struct {
	bucket
	back moment // when the last released message of the tenant is delivered again
}

// tidyTenants is the number of tenants from which idle ones are removed.
const tidyTenants = 1000

func newRates(all, tenant Rate, now moment) rates {
	r := rates{by: map[string]*tenantRate{}, tidyAt: tidyTenants, changed: make(chan struct{}, 1), tenant: tenant}
	r.all.change(all, now-moment(time.Duration(all.Burst)*all.Every))
	return r
}

func (r *rates) limit() bool { return r.all.limits() || r.tenant.limits() }

// slot is the time at which an item may start. It then has its tokens until it has started.
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

// of returns the rate of a tenant.
func (r *rates) of(name string, now moment) *tenantRate {
	one := r.by[name]
	if one == nil {
		r.tidy(now)
		one = &tenantRate{bucket: bucket{Rate: r.tenant}}
		r.by[name] = one
	}
	return one
}

// tidy removes tenants that are in the state of a new one.
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

// later returns an item's token for its tenant, and returns the delay of its release: behind the messages that are
// already released.
func (r *rates) later(it *Item, now moment) time.Duration {
	one := r.of(it.Tenant, now)
	if it.tenantCounted {
		one.empty -= moment(one.Every)
		it.tenantCounted = false
	}
	one.back = max(one.back, one.empty, now).plus(one.Every)
	return min(max(one.back.since(now), minTenantPause), maxTenantPause)
}

// change sets other rates.
func (r *rates) change(all, tenant Rate, now moment) {
	r.all.change(all, now)
	r.tenant = tenant
	clear(r.by)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
