package godwit

import (
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

// Report is what a consumer has done from its start until its end, or until the report was requested.
type Report struct {
	Received  int64 // deliveries, with redeliveries
	Handled   int64 // deleted after Done, or after Drop
	Dropped   int64
	Retried   int64
	Rejected  int64 // copied to the dead letters
	Released  int64 // released, also after a cancellation by shutdown; twice if an open poll received it again
	TimedOut  int64
	Abandoned int64 // handlers that did not return after their context was canceled
	LeaseLost int64
	Unsettled int64 // settlements that the service refused: the messages are delivered again
	Polls     int64
	// Filtered and Redelivered are discarded messages, which are not counted in Received: the filter does not select
	// them, or they had been handled before.
	Filtered, Redelivered int64
	Took                  time.Duration
	// Stalled is how often receiving had to wait because the backend could not remember more finished messages behind
	// unfinished ones (Kafka). [Consumer.Health] says which partition, while it lasts.
	Stalled int64
	// Leaked is 1 if the consumer's counts of held deliveries were not zero at its end, which is a bug of Godwit; the
	// log has details.
	Leaked       int64
	StillRunning int // deliveries whose handlers had not returned
}

// reportOf is the report of a session so far.
func reportOf(s *engine.Session) Report {
	n := s.Counts()
	return Report{
		Received: n.Received, Handled: n.Handled, Dropped: n.Dropped, Retried: n.Retried, Rejected: n.Rejected,
		Released: n.Released, TimedOut: n.TimedOut, Abandoned: n.Abandoned, LeaseLost: n.LeaseLost,
		Unsettled: n.Unsettled,
		Polls:     n.Polls, Filtered: n.Filtered, Redelivered: n.Redelivered, Leaked: n.Leaked,
		StillRunning: n.StillRunning,
		Took:         n.Took,
		Stalled:      n.Stalled,
	}
}
