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

// grace returns how long what is about to happen may take.
func (h *Harness) grace() time.Duration {
	if h.bubble {
		return grace
	}
	return realGrace
}

// Await waits until a condition is true. If that takes longer than Options.Patience, the test ends. The condition is
// called in the test's goroutine; in a bubble, when all other goroutines wait.
func (h *Harness) Await(cond func() bool) {
	h.t.Helper()
	if !h.await(h.patience, cond) {
		h.t.Fatalf("waited %v for a condition that does not hold\n%s", h.patience, h.picture())
	}
}

// AwaitHandled waits until n messages of a channel are handled, and the service has deleted them.
func (h *Harness) AwaitHandled(channel string, n int) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return h.journal.handledOn(channel) >= n && h.settled(channel) }) {
		h.t.Fatalf("waited %v for %d handled messages of %s, and there are %d\n%s", h.patience, n, channel,
			h.journal.handledOn(channel), h.picture(channel))
	}
}

// AwaitDeadLettered waits until a channel has n dead letters.
func (h *Harness) AwaitDeadLettered(channel string, n int) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return len(h.Left(channel+deadSuffix)) >= n }) {
		h.t.Fatalf("waited %v for %d dead letters of %s, and there are %d\n%s", h.patience, n, channel,
			len(h.DeadLetters(channel)), h.picture(channel))
	}
}

// AwaitNothingLeft waits until the channels have no messages: all are handled or dead-lettered. Without arguments it
// checks all channels but dead letters.
func (h *Harness) AwaitNothingLeft(channels ...string) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return len(h.left(channels)) == 0 }) {
		h.t.Fatalf("waited %v for everything to be handled or dead-lettered\n%s", h.patience,
			h.picture(h.named(channels)...))
	}
}

// settled reports whether the server has no handled message any more.
func (h *Harness) settled(channel string) bool {
	done := map[string]bool{}
	for _, m := range h.Messages(channel) {
		done[m.ID] = m.Handled
	}
	return !h.service.lies(channel, func(id string) bool { return done[id] })
}

// await waits at most this long, and reports whether the condition became true.
func (h *Harness) await(atMost time.Duration, cond func() bool) bool {
	begun := time.Now()
	for {
		changed := h.journal.next()
		if h.bubble {
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
		if !h.bubble {
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
