package ops

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		for at := time.Unix(0, 0); at.Before(time.Unix(0, 0).Add(12 * time.Hour)); at = at.Add(remembersEvery) {
			all[i].add(at, point{})
		}
	}
	if each := (heap() - before) / rings; each >= 64<<10 {
		t.Errorf("a history takes %d bytes", each)
	}
	for _, r := range all {
		if n := len(r.samples(r.last.Add(-remembers))); n != int(remembers/remembersEvery)+1 {
			t.Fatalf("it has %d samples of six hours", n)
		}
	}
	small := &ring{}
	small.add(time.Unix(0, 0), point{})
	if small.chunks[1] != nil {
		t.Error("a short history has room for a long one")
	}
}

// Samples come back with their times and numbers, oldest first, and unknown numbers stay unknown.
func TestHistoryOfARing(t *testing.T) {
	r := &ring{}
	at := time.Unix(1_000_000, 0)
	want := []Sample{
		{Waiting: 3, InFlight: 2, Delayed: 1, DeadLetters: -1, Oldest: time.Minute, Sent: 1.5, Done: -1},
		{DeadLetters: -1, Oldest: -time.Second, Sent: -1, Done: 0},
	}
	for i := range want {
		want[i].At = at.Add(time.Duration(i) * time.Hour)
		r.add(want[i].At, pointOf(&want[i]))
		r.add(want[i].At.Add(5*time.Second), point{}) // too early
	}
	if diff := cmp.Diff(want, r.samples(at)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], r.samples(at.Add(time.Second))); diff != "" {
		t.Errorf("of less than all (-want +got):\n%s", diff)
	}
	late := at.Add(100 * time.Hour)
	r.add(late, pointOf(&want[0]))
	if got := r.samples(time.Time{}); len(got) != 1 || !got[0].At.Equal(late) {
		t.Errorf("after a long time: %v", got)
	}
}

// Times do not drift, although a history has seconds only.
func TestTimesOfARing(t *testing.T) {
	r := &ring{}
	at := time.Unix(0, 0)
	for range 1000 {
		at = at.Add(10*time.Second + 400*time.Millisecond)
		r.add(at, point{})
	}
	got := r.samples(time.Time{})
	if first, last := got[0].At, got[len(got)-1].At; at.Sub(last).Abs() > time.Second || len(got) != 1000 ||
		last.Sub(first)-999*10400*time.Millisecond > time.Second {
		t.Errorf("%d samples from %v to %v, want to %v", len(got), first, last, at)
	}
}
