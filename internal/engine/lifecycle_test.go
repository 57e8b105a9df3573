package engine

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

// bare returns a flow with all its parts, without goroutines or a service.
func bare(lim driver.ReceiveLimits, cfg *Config) *flow {
	fleet := &Fleet{alone: true, bytes: budget{limit: 1 << 30}}
	fleet.some.L = &fleet.mu
	f := &flow{fleet: fleet, cfg: cfg, lim: lim, starts: newStartLog(), clock: newClock()}
	f.keeper = &keeper{f: f, armed: never, kick: make(chan struct{}, 1)}
	f.quiet = make(chan struct{}, 1)
	f.queue = queue{weight: 1, alone: true}
	f.places = newPlaces(max(lim.Window, 100), &fleet.bytes)
	f.sources.by = map[*driver.Source]*source{}
	f.tenants = newTenants(cfg.MaxPerTenant, &f.places, &f.lim)
	f.held.f, f.stints.f, f.stints.tickAt, f.stints.runUntil, f.polls = f, f, never, never, context.Background()
	cfg.Log = slog.New(slog.DiscardHandler)
	f.talk.log = cfg.Log
	fleet.bus.join(&f.queue)
	return f
}

// kind is a kind of items: what they hold in addition to what all items hold.
type kind struct {
	lane   uint64
	tenant string
	shelf  bool           // they move to the shelf if they may
	places bool           // places are for lanes
	of     *driver.Source // nil: all those without one share it
}

var kinds = map[string]kind{
	"plain":               {},
	"in a lane":           {lane: 7},
	"of a tenant":         {tenant: "ada"},
	"in a lane, shelved":  {lane: 7, shelf: true},
	"of a tenant, beside": {tenant: "ada", shelf: true},
	"plain, on the shelf": {shelf: true},

	"in a lane, places for lanes":          {lane: 7, places: true},
	"in a lane, shelved, places for lanes": {lane: 7, shelf: true, places: true},
}

// arrive returns a new item of a kind, which waits in its lane.
func (k kind) arrive(f *flow) *Item {
	it := f.items.take()
	it.in = &Session{flow: f, cfg: *f.cfg}
	it.src, it.size, it.lane, it.Tenant = f.sources.of(k.of), 100, k.lane, k.tenant
	it.can = f.abilities(it, true)
	f.move(it, evArrive)
	f.leases.insert(it, f.clock.now())
	return it
}

// to moves an item to a state, on a shortest way.
func (k kind) to(t *testing.T, f *flow, it *Item, want state) {
	t.Helper()
	for _, e := range route(t, it.state, want) {
		k.step(t, f, it, e)
	}
}

// step moves an item for one event and checks what it holds.
func (k kind) step(t *testing.T, f *flow, it *Item, e event) {
	t.Helper()
	from, gen := it.state, it.gen
	if !f.move(it, e) {
		t.Fatalf("%v: the event %v is not possible", from, e)
	}
	if k.shelf && onShelf>>it.state&1 != 0 && it.held&(hasPlace|hasBehind) != 0 {
		f.ledger.shelve(it)
	}
	k.check(t, f, it, gen, fmt.Sprintf("%v --%v--> %v", from, e, it.state))
}

func (k kind) check(t *testing.T, f *flow, it *Item, gen uint32, after string) {
	t.Helper()
	if text := f.imbalance(); text != "" {
		t.Errorf("%s: %s", after, text)
	}
	want := needs[it.state] & it.can
	switch {
	case k.shelf && onShelf>>it.state&1 != 0:
		want = want&^hasPlace | hasShelf
	case k.places && it.state == behind:
		want = want&^hasPlace | hasBehind
	}
	if it.held&^outlasts != want {
		t.Errorf("%s: it holds %014b, want %014b", after, it.held, want)
	}
	if it.state == gone && it.held == 0 && it.gen == gen {
		t.Errorf("%s: it is gone and cannot be reused", after)
	}
}

// route returns a shortest list of events from one state to another.
func route(t *testing.T, from, to state) []event {
	t.Helper()
	ways := map[state][]event{from: {}}
	for todo := []state{from}; len(todo) > 0; todo = todo[1:] {
		for _, e := range edges {
			if _, been := ways[e.to]; e.from == todo[0] && !been {
				ways[e.to] = append(append([]event(nil), ways[e.from]...), e.event)
				todo = append(todo, e.to)
			}
		}
	}
	if _, there := ways[to]; !there {
		t.Fatalf("there is no way from %v to %v", from, to)
	}
	return ways[to]
}

// For every event, an item of every kind returns exactly what its next state does not hold, and takes what it needs. In
// the end nothing is held. This test finds a transition that forgets something.
func TestEveryEdgeTakesAndReturnsTheDifference(t *testing.T) {
	for name, k := range kinds {
		for _, e := range edges {
			if e.event == evArrive || k.lane != 0 && (e.event == evWait || e.from == aside) {
				continue // an item in a lane has no tenant
			}
			if k.tenant == "" && (e.event == evWait || e.from == aside) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v %v", name, e.from, e.event), func(t *testing.T) {
				f := bare(driver.ReceiveLimits{Window: 100, RetryMax: time.Hour}, &Config{MaxPerTenant: 2})
				f.places.lanes = k.places
				var other *Item // keeps the tenant's share and its line in use
				if k.tenant != "" {
					other = k.arrive(f)
					kind{tenant: k.tenant}.to(t, f, other, running)
				}
				it := k.arrive(f)
				gen := it.gen
				k.to(t, f, it, e.from)
				k.step(t, f, it, e.event)
				if it.gen == gen {
					k.to(t, f, it, gone)
				}
				if other != nil {
					kind{tenant: k.tenant}.to(t, f, other, gone)
				}
				if left := f.left(true); left != "" {
					t.Errorf("still held at the end: %s", left)
				}
			})
		}
	}
}

// An event that the table does not have changes nothing.
func TestNoOtherEdges(t *testing.T) {
	allowed := map[string]bool{}
	for _, e := range edges {
		allowed[fmt.Sprint(e.from, e.event)] = true
	}
	for s := range states {
		for e := range events {
			if allowed[fmt.Sprint(s, e)] || s == gone {
				continue
			}
			f := bare(driver.ReceiveLimits{Window: 100, RetryMax: time.Hour}, &Config{MaxPerTenant: 2})
			k := kind{tenant: "ada"}
			busy := k.arrive(f)
			k.to(t, f, busy, running)
			it := k.arrive(f)
			k.to(t, f, it, s)
			if held := it.held; f.move(it, e) || it.state != s || it.held != held {
				t.Errorf("%v moved for %v to %v", s, e, it.state)
			}
		}
	}
}

// A handler that does not return, and a renewal that is not answered, prevent the reuse of an item, and nothing else.
func TestWhatOutlastsTheEnd(t *testing.T) {
	for _, what := range []holding{hasStint, hasRenew} {
		f := bare(driver.ReceiveLimits{Window: 100}, &Config{})
		k := kind{}
		it := k.arrive(f)
		k.to(t, f, it, running)
		gen := it.gen
		f.take(it, what)
		k.to(t, f, it, gone)
		if it.gen != gen || it.held != what {
			t.Errorf("%014b: gone, it holds %014b, generation %d of %d", what, it.held, it.gen, gen)
		}
		if left := f.left(true); left != "" {
			t.Errorf("left: %s", left)
		}
		f.give(it, what)
		if it.gen == gen {
			t.Errorf("%014b: it cannot be reused", what)
		}
	}
}

// An item that waits again is no longer the item of the handler that had it.
func TestWhatWaitsAgainHasNoStint(t *testing.T) {
	for _, e := range []event{evUndo, evHold} {
		f := bare(driver.ReceiveLimits{Window: 100}, &Config{})
		k := kind{lane: 7}
		it, st := k.arrive(f), &stint{}
		k.to(t, f, it, running)
		it.stint = st
		f.take(it, hasStint)
		if f.move(it, e); it.stint != nil || it.held&hasStint != 0 {
			t.Errorf("after %v it still has its stint", e)
		}
	}
}

// The states that wait, and the states in hand, are consistent with the table.
func TestKindsOfStates(t *testing.T) {
	for s := range states {
		if lifecycle[s][evSettle] != noEdge && !s.inHand() {
			t.Errorf("%v can be settled and is not in hand", s)
		}
		if releases := lifecycle[s][evRelease] != noEdge; releases != s.waiting() {
			t.Errorf("%v waits: %v, and can be released: %v", s, s.waiting(), releases)
		}
		if needs[s]&hasRun != 0 != (s.inHand() || s == lost) {
			t.Errorf("%v is in hand: %v, and counts as running: %v", s, s.inHand(), needs[s]&hasRun != 0)
		}
	}
}

// The diagram in docs/architecture.md has exactly the edges of the table.
func TestTheDiagramOfTheLifecycleMatches(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "<!-- lifecycle: compared with the table by a test -->\n```\n")
	drawn, _, ends := strings.Cut(after, "```")
	if !found || !ends {
		t.Fatal("docs/architecture.md has no diagram of the lifecycle")
	}
	if diff := cmp.Diff(diagram(), drawn); diff != "" {
		t.Errorf("docs/architecture.md and the table of lifecycle.go (-table +page):\n%s", diff)
	}
}

// diagram formats the table as on the page.
func diagram() string {
	var b strings.Builder
	for s := range states {
		var ways []string
		for _, e := range edges {
			if e.from == s {
				ways = append(ways, fmt.Sprintf("%v → %v", e.event, e.to))
			}
		}
		fmt.Fprintf(&b, "%-10s %s\n", s, strings.Join(ways, ", "))
	}
	return b.String()
}
