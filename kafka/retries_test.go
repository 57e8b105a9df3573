package kafka

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A MemoryRetryQueue refuses records beyond its bound, and has room again when records are due.
func TestMemoryRetriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q MemoryRetryQueue
		rs := make([]Later, memoryRetries+1)
		for i := range rs {
			rs[i].Due = time.Now().Add(time.Minute)
		}
		errs := q.Put(t.Context(), rs)
		if errs[memoryRetries-1] != nil || driver.ClassOf(errs[memoryRetries]) != driver.Throttled {
			t.Errorf("the errors of the last two records are %v", errs[memoryRetries-1:])
		}
		if n := q.Waiting(); n != memoryRetries {
			t.Errorf("%d records wait, want %d", n, memoryRetries)
		}
		time.Sleep(time.Minute)
		if n := q.Waiting(); n != 0 {
			t.Errorf("%d records wait after they were due", n)
		}
		if err := q.Put(t.Context(), rs[:1])[0]; err != nil {
			t.Errorf("there is no room after the records were due: %v", err)
		}
	})
}

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
