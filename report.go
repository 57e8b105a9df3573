package godwit

import (
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Report is what a consumer did from its start to its end, or to the moment at which it was asked.
type Report struct {
	Received  int64 // deliveries, redeliveries included
	Handled   int64 // finished after Done; those of Drop are among them
	Dropped   int64
	Retried   int64
	Rejected  int64 // copied to the dead letters
	GivenBack int64 // untouched, or cancelled by shutdown
	TimedOut  int64
	Abandoned int64 // handlers that did not return when their time was up
	LeaseLost int64
	Unsettled int64 // verdicts the service did not take: the messages come again
	Polls     int64
	// Filtered and Redelivered were finished unseen, and are not among Received: the filter did not want them, or they
	// had been handled before and came again.
	Filtered, Redelivered int64
	Took                  time.Duration
	// Leaked is 1 when the consumer's own books did not balance at its end, which is a defect of Godwit; the log tells more.
	Leaked       int64
	StillRunning int // deliveries whose handlers had not returned
}

// counters are a Report in the making.
type counters struct {
	received, handled, dropped, retried, rejected, released atomic.Int64
	timeouts, abandoned, lost, unsettled, leaked, polls     atomic.Int64
	filtered, redelivered                                   atomic.Int64
}

// unseen is how many messages were finished without a handler.
func (c *counters) unseen() int64 { return c.filtered.Load() + c.redelivered.Load() }

func (c *counters) settled(v *verdict) {
	switch a := v.action; {
	case v.untouched, a == driver.Release:
		c.released.Add(1)
	case a == driver.Done:
		c.handled.Add(1)
	case a == driver.Retry:
		c.retried.Add(1)
	case a == driver.Reject:
		c.rejected.Add(1)
	}
}

func (c *counters) report() Report {
	return Report{
		Received: c.received.Load(), Handled: c.handled.Load(), Dropped: c.dropped.Load(), Retried: c.retried.Load(),
		Rejected: c.rejected.Load(), GivenBack: c.released.Load(), TimedOut: c.timeouts.Load(),
		Abandoned: c.abandoned.Load(), LeaseLost: c.lost.Load(), Leaked: c.leaked.Load(), Unsettled: c.unsettled.Load(), Polls: c.polls.Load(),
		Filtered: c.filtered.Load(), Redelivered: c.redelivered.Load(),
	}
}
