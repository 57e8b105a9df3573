package ops

import (
	"testing"
	"time"
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
