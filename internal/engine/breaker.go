package engine

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/circuit"
)

// breakerPause is the time between two probes while what handlers depend on seems to be down.
var breakerPause = backoff.Curve{First: 5 * time.Second, Max: 2 * time.Minute}

const (
	// probeCandidates is how many items a session keeps while its breaker is open, so that probing costs no receives
	// and one bad message among them cannot keep it open.
	probeCandidates = 10
	// probesEach is how many probes one item may fail before a fresh one takes its place.
	probesEach = 5
)

// breaker stops a session from receiving while its handlers fail one after another: what comes then would only use its
// attempts up. From time to time one item is let through, in turn of those that are kept for it; the first that is
// handled ends it. A nil breaker never opens. Guarded by the fleet's lock.
type breaker struct {
	f       *flow
	circuit *circuit.Breaker

	state breakerState
	err   error     // why it opened
	next  time.Time // when the next probe may go, unless it is closed
	timer *time.Timer
	over  bool
	fresh bool // the next probe also asks for an item, in the place of one that was exchanged
}

type breakerState uint8

const (
	breakerClosed  breakerState = iota
	breakerOpen                 // nothing is received
	breakerProbing              // one item is let through
)

func newBreaker(f *flow, after int) *breaker {
	if after == 0 {
		return nil
	}
	return &breaker{f: f, circuit: circuit.New(after, breakerPause)}
}

// ended takes a handler's end in. It says whether the breaker is open now, so that a failure is nobody's attempt.
func (b *breaker) ended(ok bool, err error) (open bool) {
	if b == nil {
		return false
	}
	now := time.Now()
	b.circuit.Result(ok, now)
	if ok && b.state == breakerClosed { // as it is almost always
		return false
	}
	wait, open := b.circuit.Open(now)
	switch was := b.state; {
	case !open && was != breakerClosed:
		b.set(breakerClosed, nil, 0)
		b.f.gate.letIn(holdBroken)
		b.f.talk.breaker(false, nil)
	case open && was == breakerClosed:
		b.set(breakerOpen, err, wait)
		b.f.talk.breaker(true, err)
		b.hold()
		if !b.f.lim.Keeps {
			b.f.giveBackAll(b.f.queue.surplus(probeCandidates))
		}
	case open && was == breakerProbing && !ok:
		b.set(breakerOpen, err, wait)
		b.hold()
	}
	return open
}

// hold lets nothing run, and keeps it.
func (b *breaker) hold() {
	b.f.gate.shut(holdBroken)
	b.f.queue.freeze()
	b.f.fleet.wakeAll()
}

// keeps says whether an item whose handler has failed is kept for later probes, and if not, for how long it goes back.
// One that has failed enough of them stays away for the longest pause, so that the fresh one is another.
func (b *breaker) keeps(it *Item) (keep bool, away time.Duration) {
	pause := b.pause()
	if pause == 0 {
		return false, 0
	}
	if it.probes++; b.f.laneNearLimit(it) {
		return true, 0
	}
	if it.probes < probesEach {
		return b.f.queue.n < probeCandidates, pause
	}
	b.fresh = true
	return false, breakerPause.Max
}

// probe lets one item through when it is time to; one that never ends is followed by another.
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

// let lets one item run, and asks for one if there is none here, or a fresh one is wanted.
func (b *breaker) let(fresh bool) {
	if b.f.gate.held(holdPaused) {
		return
	}
	here := b.f.queue.head != nil
	if !b.f.queue.left {
		b.f.queue.parked, b.f.queue.frozen, b.f.queue.granted = false, true, true
	}
	b.f.fleet.wakeAll()
	if !here || fresh && !b.f.lim.Keeps {
		b.f.gate.lift(holdBroken)
	}
}

// polled keeps pollers back again once a probe has brought something, and gives back what came beyond what is kept: a
// poll that was open when the breaker opened may bring more.
func (b *breaker) polled(n int) {
	if b == nil || n == 0 || b.state == breakerClosed {
		return
	}
	b.f.gate.shut(holdBroken)
	if b.f.lim.Keeps {
		return
	}
	for _, it := range b.f.queue.surplus(probeCandidates) {
		b.f.then(it, wayBack)
	}
}

// set changes the state, and looks again in a while unless it is closed.
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

// probing says whether only one item is wanted.
func (b *breaker) probing() bool { return b != nil && b.state == breakerProbing }

// pause is how long it is until the next probe; 0: the breaker is closed.
func (b *breaker) pause() time.Duration {
	if b == nil || b.state == breakerClosed {
		return 0
	}
	return max(time.Until(b.next), time.Second)
}

// complaint is what an open breaker says in a health report; "": it is closed.
func (b *breaker) complaint() string {
	if b == nil || b.state == breakerClosed {
		return ""
	}
	return fmt.Sprintf("handlers fail one after another, so nothing is received but a probe now and then; the first error: %v", b.err)
}

// stop ends it with its session.
func (b *breaker) stop() {
	if b == nil {
		return
	}
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
