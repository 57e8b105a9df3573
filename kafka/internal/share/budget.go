package share

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostAtOnce bounds the records of one request. Java's consumer and franz-go request as many.
	mostAtOnce = 500
	// mostAhead bounds the records that wait for a handler. A broker locks at most 2,000 records of a partition by
	// default, so more would only help a receiver of many partitions.
	mostAhead = 32 * mostAtOnce
	// aheadLasts is the handling time that the waiting records cover, in addition to two round trips. Records that wait
	// longer could be handled by another process meanwhile.
	aheadLasts = 100 * time.Millisecond
	// rateWindow is the shortest time over which the rate is measured.
	rateWindow = 50 * time.Millisecond
	// longestTrip bounds the measured round trip, because an answer also waits for records to arrive.
	longestTrip = 250 * time.Millisecond
)

// budget decides how many records a session requests: as many as the handlers finish in aheadLasts, beside those that
// run. It is safe for concurrent use.
type budget struct {
	workers int
	fast    atomic.Bool // the handlers finish mostAtOnce records in aheadLasts

	mu    sync.Mutex
	held  int // records without a verdict
	ahead int // how many of them may wait for a handler
	done  int // verdicts since the window began
	since time.Time
	trip  time.Duration // of a request that brought records
	short bool          // a session waits for verdicts
}

func newBudget(workers int) *budget {
	b := &budget{workers: max(workers, 1), since: time.Now()}
	b.ahead = b.least()
	return b
}

// least is how many records may wait while the rate is unknown or low: a fast handler must not wait for a round trip,
// and the records of a slow one must not wait here long.
func (b *budget) least() int { return 1 + b.workers/4 }

// ask returns how many records one of several sessions may request; 0: wait for a wake-up. whole says that the handlers
// are so fast that the broker may deliver the rest of a producer's batch as well, which saves sending and decoding the
// batch several times.
func (b *budget) ask(sessions int) (n int, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.measure(time.Now())
	free := b.workers + b.ahead - b.held
	if b.short = free < b.worth(); b.short {
		return 0, false
	}
	n = min((free+sessions-1)/max(sessions, 1), mostAtOnce)
	return n, b.fast.Load()
}

// worth is how many records a request is worth: one for each single record would cost a round trip for each.
func (b *budget) worth() int { return min((b.ahead+1)/2, mostAtOnce) }

// measure ends a window that lasted long enough.
func (b *budget) measure(now time.Time) {
	lasted := now.Sub(b.since)
	if lasted < rateWindow {
		return
	}
	covers := aheadLasts + 2*b.trip
	ahead := int(float64(b.done)*covers.Seconds()/lasted.Seconds() + 0.5)
	b.ahead = min(max(ahead, b.ahead*3/4, b.least()), mostAhead) // a lower rate counts gradually: it may be noise
	b.done, b.since = 0, now
	b.fast.Store(b.ahead >= mostAtOnce)
}

// took counts the records that a request has brought.
func (b *budget) took(n int, trip time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
	switch trip = min(trip, longestTrip); {
	case n == 0:
	case trip < b.trip || b.trip == 0:
		b.trip = trip
	default:
		b.trip += (trip - b.trip) / 8
	}
}

// settled counts verdicts, or lost records, and returns whether sessions that wait may ask again.
func (b *budget) settled(n int) (wake bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	b.done += n
	wake = b.short && b.workers+b.ahead-b.held >= b.worth()
	if wake {
		b.short = false
	}
	return wake
}

// undone takes verdicts back.
func (b *budget) undone(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
	b.done -= n
}
