package engine

import (
	"testing"
	"time"
)

// A bucket fills over time, up to its burst. Tokens that polls have borrowed count until they are returned.
func TestABucketOfTokens(t *testing.T) {
	now := moment(time.Hour)
	var b bucket
	b.change(Rate{Every: 100 * time.Millisecond, Burst: 5}, now)
	has := func(when string, want int) {
		t.Helper()
		if n := b.tokens(now); n != want {
			t.Errorf("%s: %d tokens, want %d", when, n, want)
		}
	}
	has("at first", 0)
	now = now.plus(250 * time.Millisecond)
	has("after 250 ms", 2)
	now = now.plus(time.Hour)
	has("after an hour", 5)
	b.lend(4)
	has("with 4 on loan", 1)
	now = now.plus(time.Hour)
	has("with 4 on loan, an hour later", 1)
	b.repay(4)
	has("when they come back", 5)
	if !b.has(5, now) || b.has(6, now) {
		t.Error("a poll may not have just the tokens of half a second")
	}
	b.lend(5)
	has("with 5 on loan", 0)
	b.repay(5)
	for range 5 {
		b.slot(now)
	}
	has("when 5 have started", 0)
}

// Without tokens, each slot is later than the one before.
func TestSlots(t *testing.T) {
	now := moment(time.Hour)
	var b bucket
	b.change(Rate{Every: time.Second, Burst: 2}, now)
	now = now.plus(time.Minute)
	for i, want := range []time.Duration{0, 0, time.Second, 2 * time.Second} {
		if wait := b.slot(now).since(now); wait != want {
			t.Errorf("slot %d is in %v, want %v", i, wait, want)
		}
	}
	if b.has(1, now) {
		t.Error("tokens are left")
	}
	if n := b.tokens(now); n != -2 {
		t.Errorf("%d tokens, want -2", n)
	}
}

// A poll waits for the messages of half a second, if it requests as many. It may request more than may start at the
// same time: they then start one after another.
func TestWhatAPollMayRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   Rate
		passed time.Duration // since there was no token
		n      int
		wait   time.Duration
	}{
		{"no limit", Rate{}, 0, 10, 0},
		{"one an hour", Rate{time.Hour, 1}, 0, 0, time.Hour},
		{"ten a second", Rate{100 * time.Millisecond, 10}, 200 * time.Millisecond, 0, 300 * time.Millisecond},
		{"ten a second, later", Rate{100 * time.Millisecond, 10}, 700 * time.Millisecond, 7, 0},
		{
			"ten a second, two at once",
			Rate{100 * time.Millisecond, 2},
			100 * time.Millisecond, 0,
			100 * time.Millisecond,
		},
		{
			"ten a second, one at once",
			Rate{100 * time.Millisecond, 1},
			100 * time.Millisecond, 5, 0,
		},
		{"a thousand a second", Rate{time.Millisecond, 1000}, time.Second, 10, 0},
	} {
		now := moment(time.Hour)
		var b bucket
		b.change(c.rate, now)
		if n, wait := b.next(10, now.plus(c.passed)); n != c.n || wait != c.wait {
			t.Errorf("%s: %d after %v, want %d after %v", c.name, n, wait, c.n, c.wait)
		}
	}
}

// If there are many tenants, those with a full bucket are removed.
func TestIdleTenantsAreRemoved(t *testing.T) {
	now := moment(time.Hour)
	r := newRates(Rate{}, Rate{time.Second, 1}, now)
	busy := &Item{use: use{Tenant: "busy"}}
	for range 100 {
		busy.tenantCounted = false
		r.slot(busy, now)
	}
	for i := range 10 * tidyTenants {
		r.slot(&Item{use: use{Tenant: string(rune('a' + i))}}, now)
		now = now.plus(time.Millisecond)
	}
	if n := len(r.by); n > 3*tidyTenants {
		t.Errorf("%d tenants are known", n)
	}
	if r.by["busy"] == nil {
		t.Error("a tenant that has to wait was removed")
	}
}
