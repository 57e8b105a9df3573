package later

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

func id(n int) wire.LaterID { return wire.LaterID{7: byte(n), 6: byte(n >> 8)} }

// taken takes and ends all messages that are due at a time, and returns their offsets.
func taken(x *Index, now int64) (offsets []int64) {
	for {
		w, ok := x.Take(now)
		if !ok {
			return offsets
		}
		offsets = append(offsets, w.Offset)
		x.Done(w)
	}
}

func TestIndex(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(x *Index)
		now  int64
		want []int64
		left int
	}{
		{"nothing", func(*Index) {}, 10, nil, 0},
		{"by time", func(x *Index) {
			x.Add(id(1), 9, 0)
			x.Add(id(2), 5, 1)
			x.Add(id(3), 11, 2)
		}, 10, []int64{1, 0}, 1},
		{"by offset at one time", func(x *Index) {
			x.Add(id(3), 5, 3)
			x.Add(id(1), 5, 1)
			x.Add(id(2), 5, 2)
		}, 5, []int64{1, 2, 3}, 0},
		{"removed", func(x *Index) { x.Add(id(1), 5, 0); x.Add(id(2), 6, 1); x.Remove(id(1)) }, 10, []int64{1}, 0},
		{"removed twice", func(x *Index) {
			x.Remove(id(1))
			x.Add(id(1), 5, 1)
			x.Remove(id(1))
			x.Remove(id(1))
		}, 10, nil, 0},
		{"replaced", func(x *Index) { x.Add(id(1), 5, 0); x.Add(id(1), 5, 3) }, 10, []int64{3}, 0},
		{"replaced by a later time", func(x *Index) { x.Add(id(1), 5, 0); x.Add(id(1), 20, 3) }, 10, nil, 1},
		{"back", func(x *Index) {
			x.Add(id(1), 5, 0)
			w, _ := x.Take(5)
			x.Back(w)
		}, 5, []int64{0}, 0},
		{"back later", func(x *Index) {
			x.Add(id(1), 5, 0)
			w, _ := x.Take(5)
			w.Due = 30
			x.Back(w)
		}, 10, nil, 1},
		{"back when it was removed", func(x *Index) {
			x.Add(id(1), 5, 0)
			w, _ := x.Take(5)
			x.Remove(id(1))
			x.Back(w)
		}, 5, nil, 0},
		{"done when it was replaced", func(x *Index) {
			x.Add(id(1), 5, 0)
			w, _ := x.Take(5)
			x.Add(id(1), 6, 1)
			x.Done(w)
		}, 6, []int64{1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := NewIndex()
			c.do(x)
			if diff := cmp.Diff(c.want, taken(x, c.now)); diff != "" {
				t.Error(diff)
			}
			if x.Len() != c.left {
				t.Errorf("%d messages are left, want %d", x.Len(), c.left)
			}
			if due, ok := x.Next(); ok != (c.left > 0) || ok && due <= c.now {
				t.Errorf("the next one is due at %d (%v)", due, ok)
			}
		})
	}
}

// The index has the same messages as a map of the log's latest records, whatever the log is, and does not grow with
// records that were removed.
func TestIndexOfAnyLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, want := NewIndex(), map[wire.LaterID]Waiting{}
	for offset := range int64(50_000) {
		one := id(rng.IntN(300))
		if rng.IntN(3) == 0 {
			x.Remove(one)
			delete(want, one)
			continue
		}
		w := Waiting{Due: rng.Int64N(1000), Offset: offset, id: short(one)}
		x.Add(one, w.Due, w.Offset)
		want[one] = w
		if most := 2*x.Len() + staleMost; len(x.times) > most {
			t.Fatalf("%d times of %d messages", len(x.times), x.Len())
		}
	}
	var offsets []int64
	sorted := make([]Waiting, 0, len(want))
	for _, w := range want {
		sorted = append(sorted, w)
	}
	slices.SortFunc(sorted, func(a, b Waiting) int {
		if a.Due != b.Due {
			return int(a.Due - b.Due)
		}
		return int(a.Offset - b.Offset)
	})
	for _, w := range sorted {
		offsets = append(offsets, w.Offset)
	}
	if diff := cmp.Diff(offsets, taken(x, 1000)); diff != "" {
		t.Error(diff)
	}
}
