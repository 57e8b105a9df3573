package engine

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Counts are the numbers of a session so far.
type Counts struct {
	Received, Handled, Dropped, Retried, Rejected, Released  int64
	TimedOut, Abandoned, LeaseLost, Unsettled, Leaked, Polls int64
	Filtered, Redelivered                                    int64 // finished without a handler
	Stalled                                                  int64 // how often the receiver could return nothing
	StillRunning                                             int   // items whose handlers have not returned
	Took                                                     time.Duration
}

// unseen is how many messages were discarded.
func (c *Counts) unseen() int64 { return c.Filtered + c.Redelivered }

// settled counts a verdict that the service has accepted.
func (c *Counts) settled(v *verdict) {
	switch a := v.action; {
	case v.untouched, a == driver.Release:
		c.Released++
	case a == driver.Done:
		c.Handled++
	case a == driver.Retry:
		c.Retried++
	case a == driver.Reject:
		c.Rejected++
	}
}
