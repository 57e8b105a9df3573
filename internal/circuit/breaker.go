package circuit

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

// Breaker lets calls through while they succeed. It is safe for concurrent use.
type Breaker struct {
	after int           // consecutive failures that open it
	pause backoff.Curve // between probes

	mu      sync.Mutex
	failed  int       // in a row, while closed
	probes  int       // failed probes since it opened; 0: it is closed
	probing bool      // a probe is running
	next    time.Time // when the next probe may start; set while open
	probed  time.Time // when the last probe started
}

// New returns a closed Breaker that opens after a number of consecutive failures, and then probes with the curve's
// pauses.
func New(after int, pause backoff.Curve) *Breaker { return &Breaker{after: after, pause: pause} }

// Allow reports whether a call may start now or, if not, after which time the caller should ask again. A call that was
// allowed reports its outcome to Result.
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

// AllowLast reports whether a call that will not be repeated may start now. For such a call the shortest pause since
// the last probe is enough, however long the current pause is.
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

// probe allows a call while the breaker is open. The caller holds b.mu.
func (b *Breaker) probe(now time.Time) {
	b.probing, b.probed = true, now
	b.next = now.Add(b.pause.Wait(b.probes)) // so that a probe which never ends is followed by another
}

// Change is what an outcome has changed.
type Change uint8

// The changes of a Breaker.
const (
	Same Change = iota
	Opened
	Closed
)

// Result records the outcome of a call: whether the endpoint gave a usable answer. Failures of calls that started
// before the breaker opened are ignored, so that many calls that fail together do not lengthen the pause.
func (b *Breaker) Result(ok bool, now time.Time) Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.probes
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
	switch {
	case was == 0 && b.probes > 0:
		return Opened
	case was > 0 && b.probes == 0:
		return Closed
	}
	return Same
}

// Open reports whether it is open, and after which time the next probe may start.
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
