package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A timeline returns its items sorted, whichever items are removed meanwhile.
func TestTheTimelineIsSorted(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	var line timeline
	var there []*Item
	for range 2000 {
		switch {
		case len(there) == 0 || r.IntN(3) > 0:
			it := &Item{}
			line.insert(it, moment(r.IntN(100)))
			there = append(there, it)
		default:
			i := r.IntN(len(there))
			line.remove(there[i])
			line.remove(there[i]) // a second removal does nothing
			there = slices.Delete(there, i, i+1)
		}
	}
	if line.n != len(there) {
		t.Errorf("seed %d: it counts %d items of %d", seed, line.n, len(there))
	}
	last, n := noMoment, 0
	if line.pop(line.first()-1) != nil {
		t.Errorf("seed %d: an item is due before the first", seed)
	}
	for line.first() != never {
		at := line.first()
		it := line.pop(at)
		if it == nil || at < last {
			t.Fatalf("seed %d: after %d follows %v at %d", seed, last, it, at)
		}
		last = at
		n++
	}
	if n != len(there) || line.n != 0 {
		t.Errorf("seed %d: %d of %d items were returned, and %d are left", seed, n, len(there), line.n)
	}
}

// Ten thousand workers: items of a thousand open polls, whose answers overtake each other, arrive and are settled.
func BenchmarkTimeline(b *testing.B) {
	const polls, batch, held = 1000, 10, 20_000
	r := rand.New(rand.NewPCG(1, 1))
	its := make([]Item, held)
	var line timeline
	for i := 0; b.Loop(); i++ {
		it := &its[i%held]
		line.remove(it)
		asked := (i/batch + r.IntN(polls)*(1-min(i%batch, 1))) * 100_000 // a poll each 100 µs
		line.insert(it, moment(asked-asked%58_000_000))
	}
}

// A moment is as exact as its time, the present is later than noMoment, and never is later than any time.
func TestMomentsAreTimes(t *testing.T) {
	c := newClock()
	at := time.Now().Add(14*24*time.Hour + time.Nanosecond)
	m := c.of(at)
	if !c.time(m).Equal(at) || m.plus(time.Second).since(m) != time.Second {
		t.Errorf("%v is %v, and a second later %v", at, c.time(m), c.time(m.plus(time.Second)))
	}
	if now := c.now(); now <= noMoment || m <= now || m >= never {
		t.Errorf("now is the moment %d, and in two weeks %d", now, m)
	}
}
