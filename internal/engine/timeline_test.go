package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
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
		if it == nil || it.lease.at != at || at < last {
			t.Fatalf("seed %d: after %d follows %v at %d", seed, last, it, at)
		}
		last = at
		n++
	}
	if n != len(there) || line.n != 0 {
		t.Errorf("seed %d: %d of %d items were returned, and %d are left", seed, n, len(there), line.n)
	}
}
