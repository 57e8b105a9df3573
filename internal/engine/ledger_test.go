package engine

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// A part that differs from what items hold is found, by its name.
func TestAnImbalanceIsFound(t *testing.T) {
	for want, spoil := range map[string]func(f *flow){
		"1 places for 2 deliveries":                                func(f *flow) { f.places.taken-- },
		"1 places on the shelf for 0 deliveries":                   func(f *flow) { f.places.shelved++ },
		"3 verdicts in flight for 0 deliveries":                    func(f *flow) { f.places.settling = 3 },
		"0 entries of the bus for 1 deliveries":                    func(f *flow) { f.queue.n-- },
		"1 held retries for 0 deliveries":                          func(f *flow) { f.retries = retries{{}} },
		"2 running for 1 deliveries":                               func(f *flow) { f.running++ },
		"0 starts for 1 deliveries":                                func(f *flow) { f.sources.of(nil).started-- },
		"1 lanes for fewer deliveries":                             func(f *flow) { f.sources.of(nil).last[9] = nil },
		"1 shares for 2 deliveries":                                func(f *flow) { f.tenants.out-- },
		"1 deliveries that wait for their tenant for 0 deliveries": func(f *flow) { f.tenants.waiting.Add(1) },
		"": func(*flow) {},
	} {
		f := bare(driver.ReceiveLimits{RetryMax: 1}, &Config{MaxPerTenant: 2})
		k := kind{tenant: "ada"}
		k.to(t, f, k.arrive(f), queued)
		k.to(t, f, k.arrive(f), running)
		if spoil(f); f.imbalance() != want {
			t.Errorf("%q, want %q", f.imbalance(), want)
		}
	}
}

// What is left at the end is named. Bytes are of all sessions of a fleet, so they count for a session alone.
func TestWhatIsLeftAtTheEnd(t *testing.T) {
	for want, spoil := range map[string]func(f *flow){
		"1 places of polls, 1 polls":          func(f *flow) { f.places.reserve(1, true) },
		"1 handlers that count for the limit": func(f *flow) { f.queue.alone = false; f.queue.seat() },
		"1 tenants":                           func(f *flow) { f.tenants.by["ada"] = &tenant{} },
		"7 bytes":                             func(f *flow) { f.places.bytes.held = 7 },
		"1 leases on the timeline":            func(f *flow) { f.leases.insert(&Item{}, 1) },
	} {
		f := bare(driver.ReceiveLimits{}, &Config{MaxPerTenant: 2})
		spoil(f)
		if left := f.left(true); left != want {
			t.Errorf("left: %q, want %q", left, want)
		}
		if left := f.left(false); (left != "") != !strings.Contains(want, "bytes") {
			t.Errorf("left in a fleet: %q", left)
		}
	}
}

// An item on the shelf has no place, but its bytes, and gets a place again.
func TestTheLedgersShelf(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	it := kind{lane: 7}.arrive(f)
	check := func(places, shelved int, on int64) {
		t.Helper()
		p := f.places
		if p.taken != places || p.shelved != shelved || p.shelf != on || p.bytes.held != it.size ||
			f.imbalance() != "" {
			t.Errorf("%d places, %d on the shelf with %d bytes, %d held in all; %s", p.taken, p.shelved, p.shelf,
				p.bytes.held, f.imbalance())
		}
	}
	check(1, 0, 0)
	f.ledger.shelve(it)
	check(0, 1, it.size)
	f.ledger.unshelve(it)
	check(1, 0, 0)
}

// The end of the last running item is signaled, not the ends before. Without a receiver the ledger does not wait.
func TestTheLastOneThatStops(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	for again := range 2 {
		one, other := kind{}.arrive(f), kind{}.arrive(f)
		kind{}.to(t, f, one, running)
		kind{}.to(t, f, other, running)
		if f.move(one, evFinish); len(f.quiet) != again {
			t.Error("signaled while one is running")
		}
		if f.move(other, evFinish); len(f.quiet) != 1 {
			t.Error("not signaled when the last one stopped")
		}
	}
}
