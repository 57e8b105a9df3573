package kafka

import (
	"testing"
	"time"
)

// A record waits in the shortest tier that is long enough, and in the longest if none is.
func TestTheFittingTier(t *testing.T) {
	q := &tierQueue{tiers: []time.Duration{5 * time.Second, time.Minute, time.Hour}}
	for wait, want := range map[time.Duration]time.Duration{
		-time.Second: 5 * time.Second, 5 * time.Second: 5 * time.Second, 5*time.Second + 1: time.Minute,
		time.Hour: time.Hour, 30 * time.Hour: time.Hour,
	} {
		if got := q.fitting(wait); got != want {
			t.Errorf("a wait of %v fits the tier %v, want %v", wait, got, want)
		}
	}
}
