package metric

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestLayerIsAMap compares a layer with a map of points: samples come in any order, and the oldest points are handed to
// the next layer.
func TestLayerIsAMap(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		fine, rough := layer{period: 60}, layer{period: 300}
		want := map[int64]float64{} // sums by minute
		for range 200 {
			at, x := 3000+60*r.Int64N(100), float64(r.IntN(3))
			fine.put(at+r.Int64N(60), Of(x, 1))
			want[at] += x
		}
		cut := 3000 + 300*r.Int64N(20)
		fine.trim(cut, &rough)
		got, old, oldWant := map[int64]float64{}, 0.0, 0.0
		fine.each(0, 1<<40, func(run *run, start, n int64) {
			for i := range n {
				s := run.stats()
				got[start+60*i] += s.Sum
			}
		})
		rough.each(0, cut, func(run *run, _, n int64) {
			s := run.stats()
			old += s.Sum * float64(n)
		})
		for at, x := range want {
			if at < cut {
				oldWant += x
				delete(want, at)
			}
		}
		if fine.bytes != cost(fine.runs...) || rough.bytes != cost(rough.runs...) {
			t.Fatalf("seed %d: %d and %d bytes are counted, and it is %d and %d", seed, fine.bytes, rough.bytes,
				cost(fine.runs...), cost(rough.runs...))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || old != oldWant {
			t.Fatalf("seed %d: %v and %v, want %v and %v", seed, got, old, want, oldWant)
		}
	}
}

// TestManyValuesAreRounded: percentiles of more values than are kept are right to 0.2 %.
func TestManyValuesAreRounded(t *testing.T) {
	var s Stats
	const n = 20_000
	for i := range n {
		s.Add(Of(float64(i+1), 1))
	}
	p90, _ := Parse("p90")
	x, ok := p90.Of(&s)
	if !ok || x < 0.9*n*0.996 || x > 0.9*n*1.004 || len(s.Values) > maxValues || s.Count != n || s.Max != n {
		t.Errorf("p90 is %v of %d values kept, count %v, maximum %v", x, len(s.Values), s.Count, s.Max)
	}
}
