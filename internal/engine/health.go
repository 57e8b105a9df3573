package engine

import (
	"fmt"
	"slices"
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

// Health is how the session is doing now.
func (s *Session) Health(now time.Time) Health {
	f := s.flow
	workers := s.pace.handlers()
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	h := Health{Running: f.running}
	if oldest := f.stints.oldest(); oldest != never {
		h.Oldest = f.clock.time(oldest)
	}
	for _, a := range f.stints.abandoned {
		h.Abandoned = append(h.Abandoned, a)
	}
	slices.SortFunc(h.Abandoned, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	for _, complaint := range []string{f.breaker.complaint(), f.lacking(now, workers)} {
		if complaint != "" {
			h.Complaints = append(h.Complaints, complaint)
		}
	}
	return h
}

// lacking says what holds the places, when a poll has waited for them for long although handlers are idle; "": that is not so.
// Handlers that are all busy, here or in the fleet, are no fault but backpressure.
func (f *flow) lacking(now time.Time, workers int) string {
	since := f.places.lacking
	if since.IsZero() || now.Sub(since) < calls.FailureLasts || !f.cfg.handles() || f.running >= workers || f.queue.runnable() {
		return ""
	}
	held := f.retries.inPlaces()
	return fmt.Sprintf("no place has been free for a poll for %v, although %d of %d handlers run: %d deliveries wait behind "+
		"another of their key, %d are held for a retry, %d are being settled, and all have %d bytes",
		now.Sub(since).Round(time.Second), f.running, workers, max(0, f.places.taken-f.running-held), held, f.places.settling, f.places.bytes.held)
}
