package godwit

import (
	"time"

	"github.com/godwitmq/godwit/internal/engine"
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
	// Stalled is how often receiving had to wait because the backend could not remember more finished messages behind
	// unfinished ones (Kafka). [Consumer.Health] says which partition, while it lasts.
	Stalled int64
	// Leaked is 1 when the consumer's own books did not balance at its end, which is a defect of Godwit; the log tells more.
	Leaked       int64
	StillRunning int // deliveries whose handlers had not returned
}

// reportOf is what a session has done so far.
func reportOf(s *engine.Session) Report {
	n := s.Counts()
	return Report{
		Received: n.Received, Handled: n.Handled, Dropped: n.Dropped, Retried: n.Retried, Rejected: n.Rejected,
		GivenBack: n.GivenBack, TimedOut: n.TimedOut, Abandoned: n.Abandoned, LeaseLost: n.LeaseLost, Unsettled: n.Unsettled,
		Polls: n.Polls, Filtered: n.Filtered, Redelivered: n.Redelivered, Leaked: n.Leaked, StillRunning: n.StillRunning,
		Took: n.Took, Stalled: n.Stalled,
	}
}
