package godwittest

import (
	"testing/synctest"
	"time"
)

const (
	// A condition is looked at after every event of a consumer, and besides after a wait that grows with the time passed,
	// since it may depend on what the harness does not see. So a wait of days costs thousands of looks, not millions.
	firstLook    = time.Millisecond
	lookFraction = 64
	longestReal  = 50 * time.Millisecond
	// grace is how long an assertion that does not hold is looked at again: a verdict leaves a moment after its handler has
	// returned, in a batch.
	grace = time.Second
)

// Await waits until a condition holds. The test ends if it does not within Options.Patience. The condition is asked in the
// test's goroutine; in a bubble, when everything else waits.
func (h *Harness) Await(cond func() bool) {
	h.t.Helper()
	if !h.await(h.patience, cond) {
		h.t.Fatalf("waited %v for a condition that does not hold\n%s", h.patience, h.picture())
	}
}

// AwaitHandled waits until n messages of a channel are handled and the service knows: they are gone.
func (h *Harness) AwaitHandled(channel string, n int) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return h.journal.handledOn(channel) >= n && h.settled(channel) }) {
		h.t.Fatalf("waited %v for %d handled messages of %s, and there are %d\n%s", h.patience, n, channel,
			h.journal.handledOn(channel), h.picture(channel))
	}
}

// AwaitDeadLettered waits until n messages lie in the dead letters of a channel.
func (h *Harness) AwaitDeadLettered(channel string, n int) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return len(h.Left(channel+deadSuffix)) >= n }) {
		h.t.Fatalf("waited %v for %d dead letters of %s, and there are %d\n%s", h.patience, n, channel,
			len(h.DeadLetters(channel)), h.picture(channel))
	}
}

// AwaitNothingLeft waits until nothing lies in the channels: everything is handled or dead-lettered. Without any, all
// channels but the dead letters are meant.
func (h *Harness) AwaitNothingLeft(channels ...string) {
	h.t.Helper()
	if !h.await(h.patience, func() bool { return len(h.left(channels)) == 0 }) {
		h.t.Fatalf("waited %v for everything to be handled or dead-lettered\n%s", h.patience,
			h.picture(h.named(channels)...))
	}
}

// settled says that nothing which was handled lies on the server.
func (h *Harness) settled(channel string) bool {
	done := map[string]bool{}
	for _, m := range h.Messages(channel) {
		done[m.ID] = m.Handled
	}
	return !h.service.lies(channel, func(id string) bool { return done[id] })
}

// await waits at most so long, and says whether the condition held.
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
