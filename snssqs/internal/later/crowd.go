package later

import (
	"context"
	"sync"
	"time"
)

const (
	// mostHidden is how many messages of a queue wakers hide together. SQS hides at most 120,000, and then returns
	// none, without an error. The rest is for messages that are being sent on, and for what wakers hide before they
	// hear of each other.
	mostHidden = 80_000
	// packed is the number of hidden messages from which on none may stay in the hands of a waker, because the service
	// may return no others until then.
	packed = 100_000
	// hidesAtLeast is how many messages a waker hides at least before it asks again how many are hidden.
	hidesAtLeast = 100
	// goodFor is how long a waker believes a number that is not far from mostHidden.
	goodFor = 10 * time.Second
)

// crowd is how many messages of a queue are hidden, as far as a waker knows. It is safe for concurrent use.
type crowd struct {
	mu     sync.Mutex
	asked  time.Time // zero: never
	asking bool
	told   int64 // what the service has answered
	since  int64 // messages that this waker has hidden since then
}

// takes reports whether n more messages may be hidden, and counts them then. An error is about the number, and the
// last one counts on.
func (c *crowd) takes(ctx context.Context, q *queue, n int) (bool, error) {
	var err error
	if c.asks(time.Now()) {
		var told int64
		told, err = q.hidden(ctx)
		c.mu.Lock()
		if err == nil {
			c.told = told
		}
		c.asking, c.asked, c.since = false, time.Now(), 0
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told+c.since+int64(n) > mostHidden {
		return false, err
	}
	c.since += int64(n)
	return true, err
}

// packed reports whether the service may hide no more messages.
func (c *crowd) packed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told >= packed
}

// asks reports whether the caller is to ask the service. The further the number is from its bound, the more messages
// are hidden before the next question.
func (c *crowd) asks(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	near := c.told+c.since > mostHidden/2
	old := c.asked.IsZero() || near && now.Sub(c.asked) > goodFor
	if c.asking || !old && c.since < hidesAtLeast+max(0, mostHidden-c.told)/400 {
		return false
	}
	c.asking = true
	return true
}
