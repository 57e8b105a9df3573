package engine

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/circuit"
)

// breakerPause is the time between two probes while the breaker is open.
var breakerPause = backoff.Curve{First: 5 * time.Second, Max: 2 * time.Minute}

const (
	// probeCandidates is how many items a session keeps while its breaker is open. They make probes possible without
	// receives, and there are several so that one bad message does not keep the breaker open.
	probeCandidates = 10
	// probesEach is how many probes an item may fail before another item replaces it.
	probesEach = 5
)

// breaker stops a session from receiving while its handlers fail one after another, because new messages would only
// lose their attempts. From time to time it lets one of the kept items start, in turn. The first success closes the
// breaker. A nil breaker never opens. Guarded by the fleet's lock.
type breaker struct {
	f       *flow
	circuit *circuit.Breaker

	state breakerState
	err   error     // the first error
	next  time.Time // when the next probe may start, unless the breaker is closed
	timer *time.Timer
	over  bool
	fresh bool // the next probe also receives an item, instead of one that was exchanged
	looks bool // a probe waits for the answer to the poll for that item
}

type breakerState uint8

const (
	breakerClosed  breakerState = iota
	breakerOpen                 // nothing is received
	breakerProbing              // one item may start
)

func newBreaker(f *flow, after int) *breaker {
	if after == 0 {
		return nil
	}
	return &breaker{f: f, circuit: circuit.New(after, breakerPause)}
}

// succeeded records that a handler has succeeded, which closes the breaker.
func (b *breaker) succeeded() {
	if b == nil {
		return
	}
	now := time.Now()
	b.circuit.Result(true, now)
	if b.state == breakerClosed { // the normal case
		return
	}
	if _, open := b.circuit.Open(now); !open {
		b.set(breakerClosed, nil, 0)
		b.f.gate.letIn(holdBroken)
		b.f.talk.breaker(false, nil)
	}
}

// failed records that a handler has failed. It reports whether the breaker is open now, so that the failure is not
// counted as an attempt.
func (b *breaker) failed(err error) (open bool) {
	if b == nil {
		return false
	}
	now := time.Now()
	b.circuit.Result(false, now)
	wait, open := b.circuit.Open(now)
	was := b.state
	if !open || was == breakerOpen {
		return open
	}
	b.set(breakerOpen, err, wait)
	b.f.gate.shut(holdBroken)
	b.f.queue.freeze()
	b.f.stints.splitAll()
	b.f.fleet.wakeAll()
	if was == breakerClosed {
		b.f.talk.breaker(true, err)
		if !b.f.lim.Keeps {
			b.f.releaseAll(b.f.queue.surplus(probeCandidates))
		}
	}
	return true
}

// keeps reports whether an item whose handler has failed is kept for later probes, and if not, the delay of its
// release. An item that has failed enough probes is released for the longest pause, and exchanged for another one.
func (b *breaker) keeps(it *Item) (keep bool, away time.Duration) {
	pause := b.pause()
	if pause == 0 {
		return false, 0
	}
	if it.probes++; it.laneNearLimit() {
		return true, 0
	}
	if it.probes < probesEach {
		return b.f.queue.n < probeCandidates, pause
	}
	b.fresh = true
	return false, breakerPause.Max
}

// probe lets one item start when it is time. If that one does not end, another one follows later.
func (b *breaker) probe() {
	b.f.lock()
	defer b.f.unlock()
	if b.state == breakerClosed || b.over {
		return
	}
	wait, ok := b.circuit.Allow(time.Now())
	if !ok {
		b.set(b.state, nil, wait)
		return
	}
	wait, _ = b.circuit.Open(time.Now())
	b.set(breakerProbing, nil, wait)
	fresh := b.fresh
	b.fresh = false
	b.let(fresh)
}

// let lets one item start. It receives one if there is none here, or if another one is needed; in the second case it
// waits for the answer, because a handler that fails at once would end the probe before the poll begins.
func (b *breaker) let(fresh bool) {
	if b.f.gate.held(holdPaused) {
		return
	}
	here := b.f.queue.head != nil
	if b.looks = here && fresh && !b.f.lim.Keeps; !b.looks {
		b.grant()
	}
	if !here || b.looks {
		b.f.gate.lift(holdBroken)
	}
}

// grant lets the first item start, or the next one that is received.
func (b *breaker) grant() {
	if !b.f.queue.left {
		b.f.queue.parked, b.f.queue.frozen, b.f.queue.granted = false, true, true
	}
	b.f.fleet.wakeAll()
}

// polled stops receiving again when a probe's poll has returned an item. It releases the items above those that are
// kept: a poll that was open when the breaker opened may return more.
func (b *breaker) polled(n int) {
	if b == nil || b.state == breakerClosed || n == 0 && !b.looks {
		return
	}
	b.f.gate.shut(holdBroken)
	if b.looks {
		b.looks = false
		b.grant()
	}
	if b.f.lim.Keeps {
		return
	}
	for _, it := range b.f.queue.surplus(probeCandidates) {
		b.f.then(it, wayRelease)
	}
}

// set changes the state, and sets the timer for the next probe unless the breaker is closed.
func (b *breaker) set(state breakerState, err error, wait time.Duration) {
	if b.over {
		return
	}
	b.state = state
	if state == breakerClosed {
		b.err = nil
		b.timer.Stop()
		return
	}
	if b.err == nil {
		b.err = err
	}
	wait = max(wait, time.Millisecond)
	b.next = time.Now().Add(wait)
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.probe)
	} else {
		b.timer.Reset(wait)
	}
}

// probing reports whether only one item is needed.
func (b *breaker) probing() bool { return b != nil && b.state == breakerProbing }

// pause is the time until the next probe; 0: the breaker is closed.
func (b *breaker) pause() time.Duration {
	if b == nil || b.state == breakerClosed {
		return 0
	}
	return max(time.Until(b.next), time.Second)
}

// complaint is the sentence of an open breaker for health; "": it is closed.
func (b *breaker) complaint() string {
	if b == nil || b.state == breakerClosed {
		return ""
	}
	return fmt.Sprintf("handlers fail one after another, so only a few messages are received as probes; the first error: %v", b.err)
}

// stop stops the breaker with its session.
func (b *breaker) stop() {
	if b == nil {
		return
	}
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
