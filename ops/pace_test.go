package ops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/ops/internal/history"
)

// Few channels are looked at as often as wanted. With more, the interval grows, and the requests stay in the budget.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		channels, budget int
		want             time.Duration
	}{
		{1, 1200, 10 * time.Second},
		{80, 1200, 10 * time.Second},
		{200, 1200, 27 * time.Second},
		{2000, 1200, 5*time.Minute - 0*time.Second},
		{1, 10, 20 * time.Second},
	} {
		p := paceFor(10*time.Second, c.budget, c.channels, c.channels, true)
		if p.Requests > c.budget || p.Interval < 10*time.Second || p.Catalog < time.Minute || p.Rates < time.Minute {
			t.Errorf("%+v: %+v", c, p)
		}
		if d := p.Interval - c.want; d.Abs() > c.want/10 {
			t.Errorf("%+v: %+v", c, p)
		}
	}
	if p := paceFor(time.Minute, 1200, 0, 0, false); p.Interval != time.Minute || p.Requests != 1 || p.Rates != 0 {
		t.Errorf("without channels: %+v", p)
	}
}

// A sample that is remembered keeps its numbers, but for the dead letters, and unknown numbers stay unknown.
func TestSampleOfPoint(t *testing.T) {
	for _, s := range []Sample{
		{Waiting: 3, InFlight: 2, Delayed: 1, DeadLetters: -1, Oldest: time.Minute, Sent: 1.5, Done: -1},
		{DeadLetters: -1, Oldest: -time.Second, Sent: -1, Done: 0},
	} {
		s.At = time.Unix(1_000_000, 0)
		if diff := cmp.Diff(s, sampleOf(&history.Moment{At: s.At, Point: pointOf(&s)})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
