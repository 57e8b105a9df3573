package engine

import (
	"math/rand/v2"
	"testing"
)

// Held retries are returned in the order of their times, and each can be removed.
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
		t.Errorf("seed %d: %d of 300 were returned", seed, n)
	}
}

// A retry on the shelf is not counted among those that take places.
func TestRetriesInPlaces(t *testing.T) {
	held := retries{{held: hasPlace | hasTimer}, {held: hasShelf | hasTimer}, {held: hasPlace | hasTimer}}
	if n := held.inPlaces(); n != 2 {
		t.Errorf("%d of 3 retries have a place, want 2", n)
	}
}
