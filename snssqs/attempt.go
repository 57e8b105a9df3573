package snssqs

import (
	"crypto/rand"
	"sync"
	"time"
)

// attempts are the ids of receives on a FIFO queue. One whose answer was lost is used again by the next receive: SQS
// then hands out the same messages again, instead of keeping their groups locked until the lease ends.
type attempts struct {
	mu   sync.Mutex
	lost []attempt
}

type attempt struct {
	id    string
	asked time.Time
}

// begin is the id of the next receive, and whether it has been used before.
func (a *attempts) begin(now time.Time, lease time.Duration) (at attempt, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.lost) > 0 {
		at, a.lost = a.lost[0], a.lost[1:]
		if now.Sub(at.asked) < lease { // later its messages are visible again anyway
			return at, true
		}
	}
	return attempt{rand.Text(), now}, false
}

// failed keeps an id whose answer did not arrive.
func (a *attempts) failed(at attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = append(a.lost, at)
}
