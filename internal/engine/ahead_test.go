package engine

import (
	"testing"
	"time"
)

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
