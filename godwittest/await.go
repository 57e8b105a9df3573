package godwittest

import (
	"testing/synctest"
	"time"
)

const (
	// A condition is checked after every event of a consumer. It is also checked after waits that grow with the time
	// that has passed, because it may depend on events that the harness does not see. A wait of days needs thousands of
	// checks, not millions.
	firstLook    = time.Millisecond
	lookFraction = 64
	longestReal  = 50 * time.Millisecond
	// grace is how long an assertion that does not hold is repeated, because a verdict is sent in a batch, a moment
	// after its handler has returned. In real time, goroutines of a busy machine may wait for seconds.
	grace     = time.Second
	realGrace = 5 * time.Second
)

// waiter waits for what a test expects.
type waiter struct {
	*view
	bubble   bool // time is virtual
	patience time.Duration
}

// grace returns how long what is about to happen may take.
func (w *waiter) grace() time.Duration {
	if w.bubble {
		return grace
	}
	return realGrace
}

// Await waits until a condition is true. If that takes longer than Options.Patience, the test ends. The condition is
// called in the test's goroutine; in a bubble, when all other goroutines wait.
func (w *waiter) Await(cond func() bool) {
	w.t.Helper()
	if !w.await(w.patience, cond) {
		w.t.Fatalf("waited %v for a condition that does not hold\n%s", w.patience, w.picture())
	}
}

// AwaitHandled waits until n messages of a channel are handled, and the service has deleted them.
func (w *waiter) AwaitHandled(channel string, n int) {
	w.t.Helper()
	if !w.await(w.patience, func() bool { return w.journal.handledOn(channel) >= n && w.settled(channel) }) {
		w.t.Fatalf("waited %v for %d handled messages of %s, and there are %d\n%s", w.patience, n, channel,
			w.journal.handledOn(channel), w.picture(channel))
	}
}

// AwaitDeadLettered waits until a channel has n dead letters.
func (w *waiter) AwaitDeadLettered(channel string, n int) {
	w.t.Helper()
	if !w.await(w.patience, func() bool { return len(w.Left(channel+deadSuffix)) >= n }) {
		w.t.Fatalf("waited %v for %d dead letters of %s, and there are %d\n%s", w.patience, n, channel,
			len(w.DeadLetters(channel)), w.picture(channel))
	}
}

// AwaitNothingLeft waits until the channels have no messages: all are handled or dead-lettered. Without arguments it
// checks all channels but dead letters.
func (w *waiter) AwaitNothingLeft(channels ...string) {
	w.t.Helper()
	if !w.await(w.patience, func() bool { return len(w.left(channels)) == 0 }) {
		w.t.Fatalf("waited %v for everything to be handled or dead-lettered\n%s", w.patience,
			w.picture(w.named(channels)...))
	}
}

// settled reports whether the server has no handled message any more.
func (w *waiter) settled(channel string) bool {
	done := map[string]bool{}
	for _, m := range w.Messages(channel) {
		done[m.ID] = m.Handled
	}
	return !w.service.lies(channel, func(id string) bool { return done[id] })
}

// await waits at most this long, and reports whether the condition became true.
func (w *waiter) await(atMost time.Duration, cond func() bool) bool {
	begun := time.Now()
	for {
		changed := w.journal.gate.next()
		if w.bubble {
			synctest.Wait()
		}
		if cond() {
			return true
		}
		passed := time.Since(begun)
		if passed >= atMost {
			return false
		}
		look := max(firstLook, passed/lookFraction)
		if !w.bubble {
			look = min(look, longestReal)
		}
		timer := time.NewTimer(min(look, atMost-passed))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}
