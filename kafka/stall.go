package kafka

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// stall notes that no record of an epoch can be admitted now, and returns false.
func (in *round) stall(e *epoch) bool {
	if e.stalled.IsZero() {
		e.stalled = in.now
		in.l.stalls++
	}
	return false
}

// Stalls returns how often partitions had to wait although places were free, and a text for each that waits now.
func (r *receiver) Stalls(now time.Time) (times int64, complaints []string) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.epochs {
		if e.stalled.IsZero() || now.Sub(e.stalled) < driver.StallLasts {
			continue
		}
		why := "the commit has no room for more finished records behind it"
		if e.crowded() {
			why = fmt.Sprintf("%d records (%d bytes) wait in this process until they are due", e.waiting, e.waitingB)
		}
		complaints = append(complaints, fmt.Sprintf("partition %s has admitted no record for %v: the record at offset "+
			"%d is unfinished, and %s: look for handlers that fail or are slow", e.Name,
			now.Sub(e.stalled).Round(time.Second), e.tracker.First(), why))
	}
	return l.stalls, complaints
}
