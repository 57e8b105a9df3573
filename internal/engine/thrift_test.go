package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A pause lets most of a poll's messages arrive, within its bounds. There is no pause if it would be useless, or too
// late.
func TestPausesThatSaveRequests(t *testing.T) { synctest.Test(t, testPauses) }

func testPauses(t *testing.T) {
	clock := newClock()
	poll := func(n int, received int32, age time.Duration) []driver.Delivery {
		got := make([]driver.Delivery, n)
		for i := range got {
			got[i] = driver.Delivery{SentAt: time.Now().Add(-age), Received: received}
		}
		return got
	}
	for _, c := range []struct {
		name      string
		tolerance time.Duration
		got       []driver.Delivery
		passed    time.Duration // since the answer before
		want      time.Duration
	}{
		{"a hundred a second", 2 * time.Minute, poll(1, 1, 0), 10 * time.Millisecond, 80 * time.Millisecond},
		{"one a second", 2 * time.Minute, poll(1, 1, 0), time.Second, 6 * time.Second},
		{"one in ten minutes, and much is tolerated", 24 * time.Hour, poll(1, 1, 0), 10 * time.Minute, thriftMost},
		{"not asked for", 0, poll(1, 1, 0), time.Second, 0},
		{"nothing comes", 2 * time.Minute, nil, time.Second, 0},
		{"a full poll", 2 * time.Minute, poll(10, 1, 0), time.Second, 0},
		{"an old message", 2 * time.Minute, poll(1, 1, 55*time.Second), time.Second, 0},
		{
			"an old message that waited for its next attempt", 2 * time.Minute, poll(1, 2, time.Hour), time.Second,
			6 * time.Second,
		},
	} {
		th := thrift{tolerance: c.tolerance, at: clock.now() - moment(c.passed)}
		if th.polled(c.got, 10, 0, clock); th.wait != c.want {
			t.Errorf("%s: a pause of %v, want %v", c.name, th.wait, c.want)
		}
	}
	first := thrift{tolerance: time.Minute}
	if first.polled(poll(1, 1, 0), 10, 0, clock); first.wait != 0 {
		t.Errorf("a pause of %v while the rate is unknown", first.wait)
	}
}
