package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func expiryCases() []testCase {
	return []testCase{
		{
			name: "expiry/sent", run: expirySent,
			shows: "a delivery has its message's expiry, and the service's time of the acceptance",
		},
		{
			name: "expiry/first", run: expiryFirst,
			shows: "a message that is sent again has the time of its first acceptance",
		},
		{
			name: "expiry/retried", run: expiryRetried,
			shows: "expiry and first acceptance survive a retry that the service keeps",
		},
		{
			name: "expiry/rejected", run: expiryRejected,
			needs: need("dead letters", func(h *Harness) bool { return h.Can.DeadLetters }),
			shows: "a dead letter has the expiry and the first acceptance of its message",
		},
		{
			name: "expiry/forwarded", run: expiryForwarded,
			needs: need("driver.Forwarders", func(h *Harness) bool { return h.Can.Forwards }),
			shows: "a message that is forwarded keeps its first acceptance, unless its expiry is renewed",
		},
		{
			name:  "expiry/revived",
			shows: "a dead letter that goes back keeps its first acceptance, unless its expiry is renewed",
			run:   expiryRevived,
			needs: need("dead letters that can be forwarded", func(h *Harness) bool {
				return h.Can.Forwards && h.Can.DeadLetters
			}),
		},
	}
}

// expires is what the messages of these cases have.
const expires = 90*time.Minute + 1500*time.Millisecond

// putExpiring sends a message that expires, and returns its delivery.
func putExpiring(e *end) driver.Delivery {
	e.k.Helper()
	m := full("ada", "soon")
	m.Expires = expires
	e.put(m)
	return e.get(1)[0]
}

// expiresFrom checks the expiry of a delivery, and that it counts from a time, within a second.
func expiresFrom(k *kit, d driver.Delivery, first time.Time) {
	k.Helper()
	if d.Expires != expires {
		k.Errorf("it expires after %v, want %v", d.Expires, expires)
	}
	if off := d.First.Sub(first).Abs(); off > time.Second {
		k.Errorf("its first acceptance was at %v, want %v", d.First, first)
	}
}

func expirySent(k *kit) {
	e := k.queue("expirysent", false)
	e.put(bodies("for good")...)
	d := e.get(1)[0]
	if d.Expires != 0 || d.First.IsZero() || d.First.After(time.Now().Add(time.Second)) {
		k.Errorf("a message that does not expire: expires after %v, was accepted at %v", d.Expires, d.First)
	}
	now := time.Now()
	expiresFrom(k, putExpiring(e), now)
}

func expiryFirst(k *kit) {
	e := k.queue("expiryfirst", false)
	first := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	e.put(driver.Message{Body: []byte("again"), Expires: expires, First: first})
	d := e.get(1)[0]
	if expiresFrom(k, d, first); !d.First.Equal(first) {
		k.Errorf("its first acceptance was at %v, want %v", d.First, first)
	}
}

func expiryRetried(k *kit) {
	e := k.queue("expiryretried", false)
	lim := e.recv.Limits()
	if lim.RetryMax == 0 {
		k.Skip("not run: the service keeps no retries")
	}
	d := putExpiring(e)
	after := max(2*time.Second, lim.RetryMin)
	if err := e.recv.Settle(k.ctx, []driver.Settlement{
		{Handle: d.Handle, Action: driver.Retry, After: after, Attempt: 1},
	}); err != nil {
		k.Fatal(err)
	}
	again := e.upTo(1, after+patience)
	if len(again) != 1 {
		k.Fatal("the retry did not come")
	}
	expiresFrom(k, again[0], d.First)
	k.same(again[0], d)
}

func expiryRejected(k *kit) {
	e := k.queue("expiryrejected", false)
	d := putExpiring(e)
	e.nothing(2 * time.Second)
	letter := e.die(e.letters(), d)
	expiresFrom(k, letter, d.First)
	k.same(letter, d)
}

func expiryForwarded(k *kit) {
	from, to := k.queue("expiryfrom", false), k.queue("expiryto", false)
	way, back := k.forwarder(to.ch), k.forwarder(from.ch)
	d := putExpiring(from)
	from.nothing(2 * time.Second)
	from.forward(way, d, driver.Forward{First: d.First})
	there := to.get(1)[0]
	expiresFrom(k, there, d.First)
	k.same(there, d)
	now := time.Now()
	to.forward(back, there, driver.Forward{First: there.First, Renew: true})
	renewed := from.get(1)[0]
	expiresFrom(k, renewed, now)
	k.same(renewed, d)
}

func expiryRevived(k *kit) {
	e := k.queue("expiryrevived", false)
	letters := e.letters()
	home := k.home(letters.ch, false).Forwarder
	d := putExpiring(e)
	first := d.First
	e.nothing(2 * time.Second)
	for range 2 {
		letter := e.die(letters, d)
		letters.forward(home, letter, driver.Forward{Revive: true, First: letter.First})
		d = e.get(1)[0]
		expiresFrom(k, d, first)
	}
	letter := e.die(letters, d)
	now := time.Now()
	letters.forward(home, letter, driver.Forward{Revive: true, First: letter.First, Renew: true})
	expiresFrom(k, e.get(1)[0], now)
}
