package circuit

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

// Breaker lets calls through while they succeed. Safe for concurrent use.
type Breaker struct {
	after int           // failures in a row that open it
	pause backoff.Curve // between probes

	mu      sync.Mutex
	failed  int       // in a row, while closed
	probes  int       // that failed since it opened; 0: it is closed
	probing bool      // a probe is under way
	next    time.Time // when the next probe may go; set while open
	probed  time.Time // when the last one went
}

// New makes a closed Breaker that opens after so many failures in a row and then probes by the curve.
func New(after int, pause backoff.Curve) *Breaker { return &Breaker{after: after, pause: pause} }

// Allow says whether a call may go now, and if not, in how long it is worth asking again. A call that may go reports
// its end with Result.
func (b *Breaker) Allow(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probes == 0 {
		return 0, true
	}
	if wait = b.next.Sub(now); wait > 0 {
		return wait, false
	}
	b.probe(now)
	return 0, true
}

// AllowLast says whether a call may go now that will not be made again: the shortest pause after the last probe is enough
// for it, however long the present one is.
func (b *Breaker) AllowLast(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probes > 0 {
		if now.Before(b.next) && now.Before(b.probed.Add(b.pause.First)) {
			return false
		}
		b.probe(now)
	}
	return true
}

// probe lets a call go while it is open. The caller holds b.mu.
func (b *Breaker) probe(now time.Time) {
	b.probing, b.probed = true, now
	b.next = now.Add(b.pause.Wait(b.probes)) // a probe that never ends is followed by another
}

// Result takes the end of a call in: whether the endpoint answered sensibly. Calls that left before it opened and fail
// after that tell nothing new: a crowd that fails together does not make the pause longer.
func (b *Breaker) Result(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ok:
		b.failed, b.probes, b.probing = 0, 0, false
	case b.probes == 0:
		if b.failed++; b.failed >= b.after {
			b.fail(now)
		}
	case b.probing:
		b.fail(now)
	}
}

// Open says whether it is open, and in how long the next probe may go.
func (b *Breaker) Open(now time.Time) (wait time.Duration, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probes == 0 {
		return 0, false
	}
	return max(0, b.next.Sub(now)), true
}

// fail opens it for another pause. The caller holds b.mu.
func (b *Breaker) fail(now time.Time) {
	b.probes++
	b.probing = false
	b.next = now.Add(b.pause.Wait(b.probes))
}
