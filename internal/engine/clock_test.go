package engine

import (
	"testing"
	"time"
)

// A moment is as exact as its time, the present is later than noMoment, and never is later than any time.
func TestMomentsAreTimes(t *testing.T) {
	c := newClock()
	at := time.Now().Add(14*24*time.Hour + time.Nanosecond)
	m := c.of(at)
	if !c.time(m).Equal(at) || m.plus(time.Second).since(m) != time.Second {
		t.Errorf("%v is %v, and a second later %v", at, c.time(m), c.time(m.plus(time.Second)))
	}
	if now := c.now(); now <= noMoment || m <= now || m >= never {
		t.Errorf("now is the moment %d, and in two weeks %d", now, m)
	}
}
