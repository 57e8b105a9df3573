package godwit

import "time"

// Live is what a consumer holds at a moment, for metrics. Its numbers are of one moment and belong together.
type Live struct {
	Held     int // deliveries, with those whose settlements are in flight
	Running  int // deliveries with a handler, or with an iterator's caller
	Waiting  int // deliveries that wait for a worker, for those before them in their lanes, or for their tenant's share
	Retrying int // retries that the consumer holds
	Settling int // settlements in flight
	Bytes    int64
	Lanes    int // with at least one delivery
	// Blocked is for how long the lane that has waited longest has waited for its first delivery: since its handler has
	// started, or since its first failure. 0: no lane waits.
	Blocked time.Duration
	Workers int // handlers that may run at the same time
	Polls   int // open polls
	// Uncommitted are finished messages of Kafka that are delivered again after a crash, because no commit has passed
	// them yet.
	Uncommitted int64
}

// Live returns what the consumer holds now; the zero Live, if it does not run. It may be called at any time, and makes
// no request.
func (c *Consumer) Live() Live {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return Live{}
	}
	return Live(s.Live())
}
