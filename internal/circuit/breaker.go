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

	mu     sync.Mutex
	failed int       // in a row
	next   time.Time // when the next probe may go; set while open
}

// New makes a closed Breaker that opens after so many failures in a row and then probes by the curve.
func New(after int, pause backoff.Curve) *Breaker { return &Breaker{after: after, pause: pause} }

// Allow says whether a call may go now, and if not, in how long it is worth asking again. A call that may go reports
// its end with Result.
func (b *Breaker) Allow(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < b.after {
		return 0, true
	}
	if wait = b.next.Sub(now); wait > 0 {
		return wait, false
	}
	b.next = now.Add(b.pause.Wait(b.failed - b.after + 1)) // this one is the probe
	return 0, true
}

// Result takes the end of a call in: whether the endpoint answered sensibly.
func (b *Breaker) Result(ok bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.failed = 0
		return
	}
	b.failed++
	if b.failed >= b.after {
		b.next = now.Add(b.pause.Wait(b.failed - b.after + 1))
	}
}
