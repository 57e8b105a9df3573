package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A timeline gives back what was put in, sorted, whatever is taken out between.
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
			line.remove(there[i]) // a second time is nothing
			there = slices.Delete(there, i, i+1)
		}
	}
	if line.n != len(there) {
		t.Errorf("seed %d: it says that it has %d items of %d", seed, line.n, len(there))
	}
	last, n := noMoment, 0
	if line.pop(line.first()-1) != nil {
		t.Errorf("seed %d: something is due before the first", seed)
	}
	for line.first() != never {
		at := line.first()
		it := line.pop(at)
		if it == nil || it.lease.at != at || at < last {
			t.Fatalf("seed %d: after %d comes %v of %d", seed, last, it, at)
		}
		last = at
		n++
	}
	if n != len(there) || line.n != 0 {
		t.Errorf("seed %d: %d of %d items came back, and %d are left", seed, n, len(there), line.n)
	}
}

// Held retries come in the order in which they are due, and each can be taken out.
func TestRetriesComeWhenTheyAreDue(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	var held retries
	var all []*Item
	for range 500 {
		it := &Item{until: moment(r.IntN(1000))}
		held.add(it)
		all = append(all, it)
	}
	for _, it := range all[:200] {
		held.remove(it)
	}
	last, n := moment(-1), 0
	for it := held.due(never); it != nil; it = held.due(never) {
		if it.until < last || it.until != held.first() || held.due(it.until-1) != nil {
			t.Fatalf("seed %d: %d after %d", seed, it.until, last)
		}
		last = it.until
		held.remove(it)
		n++
	}
	if n != 300 || held.first() != never {
		t.Errorf("seed %d: %d of 300 came", seed, n)
	}
}
