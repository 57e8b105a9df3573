package engine

import (
	"testing"
	"time"
)

// A meter counts the time that handlers work, their items, and the age of the oldest that started. The delay of a retry
// and the channel's own delay are no age.
func TestTheMeter(t *testing.T) {
	c := newClock()
	at := func(d time.Duration) moment { return moment(2*time.Hour + d) }
	sent := func(ago time.Duration, attempt int, delay time.Duration) *Item {
		return &Item{use: use{SentAt: c.time(at(0)).Add(-ago), Attempt: attempt, delay: delay}}
	}
	var m meter
	m.move(at(0), 1)
	m.starts(sent(3*time.Second, 1, 0), c, at(0))
	m.move(at(time.Second), 1)
	for _, it := range []*Item{
		sent(0, 1, 0), sent(time.Hour, 2, 0), sent(10*time.Second, 1, 9*time.Second), {use: use{Attempt: 1}},
	} {
		m.starts(it, c, at(time.Second))
	}
	m.move(at(2*time.Second), -1)
	m.move(at(5*time.Second), -1)
	m.move(at(9*time.Second), 0)
	if m.started != 5 || m.oldest != 3*time.Second || m.worked != 6*time.Second {
		t.Errorf("%d started, the oldest at %v, worked %v; want 5, 3s, 6s", m.started, m.oldest, m.worked)
	}
}
