package snssqs

import (
	"crypto/rand"
	"sync"
	"time"
)

// attempts manages the ReceiveRequestAttemptIds of a FIFO queue. If the answer to a receive is lost, the next receive
// uses the same id. SQS then returns the same messages again; otherwise their groups stay locked until the lease ends.
type attempts struct {
	mu   sync.Mutex
	lost []attempt
}

type attempt struct {
	id    string
	asked time.Time
}

// begin returns the id of the next receive, and whether it was used before.
func (a *attempts) begin(now time.Time, lease time.Duration) (at attempt, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.lost) > 0 {
		at, a.lost = a.lost[0], a.lost[1:]
		if now.Sub(at.asked) < lease { // later than that, the messages are visible again anyway
			return at, true
		}
	}
	return attempt{rand.Text(), now}, false
}

// failed keeps the id of a receive whose answer did not arrive.
func (a *attempts) failed(at attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = append(a.lost, at)
}
