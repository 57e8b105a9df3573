package engine

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/internal/calls"
)

// Health is how a session is doing.
type Health struct {
	Running    int       // handlers' items
	Oldest     time.Time // when the oldest running handler began; zero: none runs
	Abandoned  []AbandonedHandler
	Complaints []string // why it does not do its work
}

// lacking says what holds the places, when a poll has waited for them for long although handlers are idle; "": that is
// not so. Handlers that are all busy, here or in the fleet, are no fault but backpressure.
func lacking(f *flow, now time.Time, workers int) string {
	since := f.places.lacking
	if since.IsZero() || now.Sub(since) < calls.FailureLasts || !f.cfg.handles() || f.running >= workers || f.queue.runnable() {
		return ""
	}
	held := f.retries.inPlaces()
	return fmt.Sprintf("no place has been free for a poll for %v, although %d of %d handlers run: %d deliveries wait behind "+
		"another of their key, %d are held for a retry, %d are being settled, and all have %d bytes",
		now.Sub(since).Round(time.Second), f.running, workers, max(0, f.places.taken-f.running-held), held, f.places.settling, f.places.bytes.held)
}
