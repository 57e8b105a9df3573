package engine

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/internal/calls"
)

// Health is the state of a session.
type Health struct {
	Running    int       // items with running handlers
	Oldest     time.Time // when the oldest running handler began; zero: none runs
	Abandoned  []AbandonedHandler
	Paused     bool     // at the service
	Complaints []string // why the session does not work
	// BreakerOpen: the breaker is open, which is among the complaints.
	BreakerOpen bool
}

// lacking returns a sentence on what takes the places, if a poll has waited for them for long although handlers are
// idle, and "" otherwise. If all handlers of the session or the fleet are busy, that is normal backpressure.
func lacking(f *flow, now time.Time, workers int) string {
	since := f.places.lacking
	if since.IsZero() || now.Sub(since) < calls.FailureLasts || !f.cfg.handles() || f.running >= workers ||
		f.queue.runnable() {
		return ""
	}
	held := f.retries.inPlaces()
	return fmt.Sprintf("a poll has waited for places for %v, although only %d of %d handlers run: %d deliveries wait behind "+
		"another of their key, %d are held for a retry, %d are being settled, and the deliveries have %d bytes",
		now.Sub(since).Round(time.Second), f.running, workers,
		max(0, f.places.taken+f.places.behind-f.running-held), held,
		f.places.settling, f.places.bytes.held)
}
