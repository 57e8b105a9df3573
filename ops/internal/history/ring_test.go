package history

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A history of six hours, with a sample each 10 s, takes less than 64 KiB.
func TestSizeOfAHistory(t *testing.T) {
	const rings = 50
	var all [rings]*ring
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range all {
		all[i] = &ring{}
		for at := time.Unix(0, 0); at.Before(time.Unix(0, 0).Add(12 * time.Hour)); at = at.Add(Every) {
			all[i].add(at, Point{})
		}
	}
	if each := (heap() - before) / rings; each >= 64<<10 {
		t.Errorf("a history takes %d bytes", each)
	}
	for _, r := range all {
		if n := len(r.since(r.last.Add(-Span))); n != int(Span/Every)+1 {
			t.Fatalf("it has %d points of six hours", n)
		}
	}
	small := &ring{}
	small.add(time.Unix(0, 0), Point{})
	if small.chunks[1] != nil {
		t.Error("a short history has room for a long one")
	}
}

// Points come back with their times and numbers, oldest first, and unknown numbers stay unknown.
func TestHistoryOfARing(t *testing.T) {
	r := &ring{}
	at := time.Unix(1_000_000, 0)
	unknown := float32(math.NaN())
	want := []Moment{
		{Point: Point{Waiting: 3, InFlight: 2, Delayed: 1, Oldest: 60, Sent: 1.5, Done: unknown}},
		{Point: Point{Oldest: unknown, Sent: unknown}},
	}
	for i := range want {
		want[i].At = at.Add(time.Duration(i) * time.Hour)
		r.add(want[i].At, want[i].Point)
		r.add(want[i].At.Add(5*time.Second), Point{}) // too early
	}
	if diff := cmp.Diff(want, r.since(at), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], r.since(at.Add(time.Second)), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("of less than all (-want +got):\n%s", diff)
	}
	late := at.Add(100 * time.Hour)
	r.add(late, want[0].Point)
	if got := r.since(time.Time{}); len(got) != 1 || !got[0].At.Equal(late) {
		t.Errorf("after a long time: %v", got)
	}
}

// Times do not drift, although a history has seconds only.
func TestTimesOfARing(t *testing.T) {
	r := &ring{}
	at := time.Unix(0, 0)
	for range 1000 {
		at = at.Add(10*time.Second + 400*time.Millisecond)
		r.add(at, Point{})
	}
	got := r.since(time.Time{})
	if first, last := got[0].At, got[len(got)-1].At; at.Sub(last).Abs() > time.Second || len(got) != 1000 ||
		last.Sub(first)-999*10400*time.Millisecond > time.Second {
		t.Errorf("%d points from %v to %v, want to %v", len(got), first, last, at)
	}
}
