package engine

import (
	"testing"
	"time"
)

func nudged(p *places) bool {
	select {
	case <-p.wake:
		return true
	default:
		return false
	}
}

// The waiting poller is woken when all its places are free, and not for each of them.
func TestAPollerIsWokenForAllItsPlaces(t *testing.T) {
	p := newPlaces(10, &budget{limit: 100})
	if !p.reserve(8, true) {
		t.Fatal("8 of 10 places are not free")
	}
	if p.reserve(5, true) {
		t.Fatal("13 places of 10 are free")
	}
	if p.waits(5, true); p.lacking.IsZero() {
		t.Fatal("no poller waits")
	}
	p.unreserve(1)
	if nudged(&p) {
		t.Error("woken for 3 places of 5")
	}
	p.unreserve(2)
	if !nudged(&p) {
		t.Error("not woken for 5 places")
	}
	if !p.reserve(5, true) {
		t.Error("5 places are not free")
	}
	if p.waits(0, false); !p.lacking.IsZero() {
		t.Error("a poller still waits")
	}
}

// Verdicts in flight are bounded, too. Otherwise a service that does not answer settlements would let the consumer
// receive everything.
func TestVerdictsInFlightBlockPolls(t *testing.T) {
	p := newPlaces(10, &budget{limit: 100})
	p.settling = 11
	if p.reserve(1, false) {
		t.Error("a poll was allowed with more verdicts than places")
	}
}

// Above the budget nothing is received. The first poller of a session may exceed it by one receive, additional ones may
// not.
func TestTheBudgetOfBytes(t *testing.T) {
	b := &budget{limit: 100}
	p := newPlaces(100, b)
	b.wait = append(b.wait, &p)
	p.brings = 40
	if !p.reserve(1, true) || p.reserve(1, false) {
		t.Error("want a poll of the first poller, and none of an additional one while the answer may fill the budget")
	}
	b.held = 100
	p.polled(60)
	if p.reserve(1, true) {
		t.Error("a poll was allowed above the budget")
	}
	if b.give(1); !nudged(&p) || b.held != 99 {
		t.Errorf("not woken when there is room (%d held)", b.held)
	}
	if b.give(1); nudged(&p) {
		t.Error("woken although there was room before")
	}
}

// A poll is expected to bring as much as the largest recent one, which loses weight slowly.
func TestWhatPollsBring(t *testing.T) {
	p := newPlaces(100, &budget{limit: 1000})
	for _, c := range []struct{ brought, expects int64 }{{80, 80}, {0, 70}, {0, 62}, {100, 100}} {
		p.reserve(1, true)
		if p.polled(c.brought); p.brings != c.expects {
			t.Errorf("after a poll with %d bytes %d are expected, want %d", c.brought, p.brings, c.expects)
		}
		if p.bytes.coming != 0 {
			t.Errorf("%d bytes are coming without an open poll", p.bytes.coming)
		}
	}
}

func TestTheShelfIsBounded(t *testing.T) {
	p := newPlaces(10, &budget{limit: 4000})
	if !p.shelfFor(shelfSize, 1000, false) || p.shelfFor(shelfSize+1, 0, false) || p.shelfFor(1, 1001, false) ||
		!p.shelfFor(soonSize, 1000, true) || p.shelfFor(soonSize+1, 0, true) || p.shelfFor(1, 1001, true) {
		t.Error("the shelf has room for 1000 items and a quarter of the bytes")
	}
	p.shelved, p.shelf = 400, 400
	if !p.shelfBeside(599, 0, 1) || p.shelfBeside(600, 0, 1) || p.shelfBeside(0, 600, 1) {
		t.Error("a tenant may use as much of the shelf as it leaves")
	}
}

// Where places are for lanes, the items behind others take none, and a poll reserves as many as recent polls have
// brought lanes.
func TestPlacesForLanes(t *testing.T) {
	p := newPlaces(20, &budget{limit: 1000})
	p.lanes, p.spread, p.ahead = true, 10, newAhead(10)
	polls := func() (n int) {
		for p.reserve(10, n == 0) {
			n++
		}
		for range n {
			p.polled(0)
			p.unreserve(10)
		}
		return n
	}
	if n := polls(); n != 2 {
		t.Errorf("%d polls while each may bring ten lanes, want 2", n)
	}
	for range 40 {
		p.brought(10, 1)
	}
	if n := polls(); n != 20 {
		t.Errorf("%d polls while each brings one lane, want 20", n)
	}
	p.taken = 15
	if n := polls(); n != 5 {
		t.Errorf("%d polls beside 15 lanes, want 5", n)
	}
	if p.brought(10, 10); polls() != 0 {
		t.Error("a poll that may bring ten lanes was allowed beside 15 of 20")
	}
	p.settling = 80 // of ten lanes
	if !p.has(1) || p.tight() {
		t.Error("the verdicts of ten lanes keep polls away")
	}
}

// A poll requests the fewer messages, the more workers there are and the more wait behind others.
func TestWhatPollsForLanesRequest(t *testing.T) {
	for _, c := range []struct{ places, behind, want int }{
		{20, 0, 10},
		{210, 0, 10},
		{410, 0, 6},
		{1010, 0, 3},
		{10_000, 0, 2},
		{20, behindMost - 3, 4},
		{20, behindMost + 1, 1},
	} {
		p := newPlaces(c.places, &budget{behind: c.behind})
		p.lanes = true
		if n := p.asks(10); n != c.want {
			t.Errorf("%d places, %d behind: a poll requests %d, want %d", c.places, c.behind, n, c.want)
		}
	}
	p := newPlaces(10_000, &budget{behind: behindMost})
	if n := p.asks(10); n != 10 {
		t.Errorf("without lanes a poll requests %d, want all 10", n)
	}
}

// The number of places ahead is what handlers end during a round trip, for handlers of any duration, and is bounded.
func TestPlacesAhead(t *testing.T) {
	for _, c := range []struct {
		name     string
		handlers int
		took     time.Duration
		trip     time.Duration
		want     int
	}{
		{"64 handlers of 10 ms, 20 ms a poll", 64, 10 * time.Millisecond, 20 * time.Millisecond, 160},
		{"handlers of a minute hide nothing more", 64, time.Minute, 20 * time.Millisecond, 0},
		{"a poll that waited for messages is no round trip", 64, 100 * time.Millisecond, 20 * time.Second, 400},
		{"a bound", 64, time.Millisecond, time.Second, 1200},
		{"a bound that grows with the handlers", 1000, 10 * time.Millisecond, time.Second, 6000},
	} {
		a := newAhead(c.handlers)
		a.took = c.took
		a.handled(1, c.took)
		a.polled(true, c.trip, moment(time.Hour), c.handlers, true)
		if a.extra != c.want {
			t.Errorf("%s: %d places ahead, want %d", c.name, a.extra, c.want)
		}
	}
}

// In a fleet, where other sessions use the handlers, too, the number at most doubles what has ended.
func TestPlacesAheadInAFleet(t *testing.T) {
	a := newAhead(64)
	a.at, a.trip = moment(time.Hour), 20*time.Millisecond
	a.handled(10, 10*time.Millisecond)
	a.polled(true, 20*time.Millisecond, moment(time.Hour+20*time.Millisecond), 64, false)
	if a.extra != 20 {
		t.Errorf("%d places ahead for 10 items in a round trip, want 20", a.extra)
	}
}

// The number decreases with the traffic: when polls are not full, and when no handlers end any more.
func TestPlacesAheadDecrease(t *testing.T) {
	full := func() ahead {
		a := newAhead(64)
		a.took = 10 * time.Millisecond
		a.handled(1, a.took)
		a.polled(true, 20*time.Millisecond, moment(time.Hour), 64, true)
		return a
	}
	a := full()
	if a.polled(false, 20*time.Millisecond, moment(time.Hour+time.Second), 64, true); a.extra != 0 {
		t.Errorf("%d places ahead after a poll that was not full", a.extra)
	}
	a = full()
	if a.calm(moment(time.Hour + aheadCalm/2)); a.extra == 0 {
		t.Error("they decreased at once")
	}
	if a.calm(moment(time.Hour + aheadCalm)); a.extra != 0 {
		t.Errorf("%d places ahead although no handlers end", a.extra)
	}
}

// A service that allows only a few receives has no places ahead.
func TestNoPlacesAhead(t *testing.T) {
	var a ahead
	a.handled(100, time.Millisecond)
	if a.polled(true, time.Second, moment(time.Hour), 64, true) || a.extra != 0 {
		t.Errorf("%d places ahead", a.extra)
	}
}

// A place of a lane becomes free when all items of the lane have ended.
func TestPlacesAheadForLanes(t *testing.T) {
	a := newAhead(64)
	for range 50 {
		a.brought(10, 1)
	}
	a.took = 10 * time.Millisecond
	a.handled(1, a.took)
	if a.polled(true, 20*time.Millisecond, moment(time.Hour), 64, true); a.extra != 16 {
		t.Errorf("%d places ahead for lanes of ten, want a tenth of 160", a.extra)
	}
}
