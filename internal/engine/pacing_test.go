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
		return &Item{SentAt: c.time(at(0)).Add(-ago), Attempt: attempt, delay: delay}
	}
	var m meter
	m.began(at(0), c, []*Item{sent(3*time.Second, 1, 0)})
	m.began(at(time.Second), c, []*Item{
		sent(0, 1, 0), sent(time.Hour, 2, 0), sent(10*time.Second, 1, 9*time.Second), {Attempt: 1},
	})
	m.over(1, at(0), at(2*time.Second))
	m.over(4, at(time.Second), at(5*time.Second))
	m.move(at(9*time.Second), 0)
	if m.started != 5 || m.ended != 5 || m.oldest != 3*time.Second {
		t.Errorf("%d started, %d ended, the oldest at %v; want 5, 5, 3s", m.started, m.ended, m.oldest)
	}
	if m.worked != 6*time.Second || m.spent != 6*time.Second {
		t.Errorf("worked %v, spent %v; want 6s and 6s", m.worked, m.spent)
	}
}
