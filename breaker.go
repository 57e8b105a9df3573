package godwit

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/circuit"
)

// breakerPause is the time between two probes while what handlers depend on seems to be down.
var breakerPause = backoff.Curve{First: 5 * time.Second, Max: 2 * time.Minute}

const (
	// probeCandidates is how many deliveries a consumer keeps while its breaker is open, so that probing costs no receives and
	// one bad message among them cannot keep it open.
	probeCandidates = 10
	// probesEach is how many probes one delivery may fail before a fresh one takes its place.
	probesEach = 5
)

// breaker stops a consumer from receiving while its handlers fail one after another: what comes then would only use its
// attempts up. From time to time one delivery is let through, in turn of those that are kept for it; the first that is handled
// ends it. A nil breaker never opens.
type breaker struct {
	s       *session
	circuit *circuit.Breaker

	turn sync.Mutex // one change of state at a time, with what it changes in the gate and on the bus; never held over a hook

	mu    sync.Mutex
	state breakerState
	err   error     // why it opened
	next  time.Time // when the next probe may go, unless it is closed
	timer *time.Timer
	ended bool
	fresh bool     // the next probe also asks for a delivery, in the place of one that was exchanged
	tell  []func() // what calls hooks, in order; one goroutine calls them
	busy  bool     // it does so now
}

type breakerState uint8

const (
	breakerClosed  breakerState = iota
	breakerOpen                 // nothing is received
	breakerProbing              // one delivery is let through
)

func newBreaker(s *session, after int) *breaker {
	if after == 0 {
		return nil
	}
	return &breaker{s: s, circuit: circuit.New(after, breakerPause)}
}

// counts says whether a handler's error tells something about what it depends on: one that it has marked does not.
func counts(err error) bool {
	k := markOf(err).kind
	return k != markPermanent && k != markFatal && !errors.Is(err, ErrShutdown)
}

// result takes a handler's end in; it says whether the breaker is open now, so that a failure is nobody's attempt.
func (b *breaker) result(ok bool, err error) (open bool) {
	if b == nil {
		return false
	}
	b.circuit.Result(ok, time.Now())
	if ok && b.pause() == 0 { // as it is almost always
		return false
	}
	defer b.tellAll()
	b.turn.Lock()
	defer b.turn.Unlock()
	wait, open := b.circuit.Open(time.Now())
	switch was := b.now(); {
	case !open && was != breakerClosed:
		b.set(breakerClosed, nil, 0)
		b.s.letIn(holdBroken)
		b.later(func() { b.told(false, nil) })
	case open && was == breakerClosed:
		b.set(breakerOpen, err, wait)
		surplus := b.s.holdProbes()
		b.later(func() {
			b.s.giveBackAll(surplus)
			b.told(true, err)
		})
	case open && was == breakerProbing && !ok:
		b.set(breakerOpen, err, wait)
		b.s.gate.shut(holdBroken, func() { b.s.bus.freeze(b.s) })
	}
	return open
}

// keeps says whether a delivery whose handler has failed is kept for later probes, and if not, for how long it goes back. One
// that has failed enough of them stays away for the longest pause, so that the fresh one is another.
func (b *breaker) keeps(d *Delivery) (keep bool, away time.Duration) {
	if b == nil {
		return false, 0
	}
	pause := b.pause()
	if pause == 0 {
		return false, 0
	}
	if d.probes++; b.s.nearLimit(d) || b.s.laneNearLimit(d) {
		return true, 0
	}
	if d.probes < probesEach {
		return b.s.bus.waitingUpTo(b.s, probeCandidates), pause
	}
	b.mu.Lock()
	b.fresh = true
	b.mu.Unlock()
	return false, breakerPause.Max
}

// probe lets one delivery through when it is time to; one that never ends is followed by another.
func (b *breaker) probe() {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.now() == breakerClosed {
		return
	}
	wait, ok := b.circuit.Allow(time.Now())
	if !ok {
		b.set(b.now(), nil, wait)
		return
	}
	wait, _ = b.circuit.Open(time.Now())
	b.set(breakerProbing, nil, wait)
	b.mu.Lock()
	fresh := b.fresh
	b.fresh = false
	b.mu.Unlock()
	b.s.probe(fresh)
}

// later queues what calls hooks, until no lock is held. The caller holds b.turn.
func (b *breaker) later(f func()) {
	b.mu.Lock()
	b.tell = append(b.tell, f)
	b.mu.Unlock()
}

// tellAll calls what was queued, unless another goroutine does so.
func (b *breaker) tellAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy {
		return
	}
	b.busy = true
	for len(b.tell) > 0 {
		f := b.tell[0]
		b.tell = b.tell[1:]
		b.mu.Unlock()
		f()
		b.mu.Lock()
	}
	b.busy = false
}

// polled keeps pollers back again once a probe has brought something, and gives back what came beyond what is kept: a poll that
// was open when the breaker opened may bring more.
func (b *breaker) polled(n int) {
	if b == nil || n == 0 || b.pause() == 0 {
		return
	}
	b.turn.Lock()
	var surplus []*Delivery
	if b.now() != breakerClosed {
		b.s.gate.shut(holdBroken, func() {})
		if !b.s.lim.Keeps {
			surplus = b.s.bus.surplus(b.s, probeCandidates)
		}
	}
	b.turn.Unlock()
	for _, head := range surplus {
		b.s.giveBackWaiting(head)
	}
}

func (b *breaker) now() breakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// set changes the state, and looks again in a while unless it is closed. The caller holds b.turn.
func (b *breaker) set(state breakerState, err error, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
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

func (b *breaker) told(open bool, err error) {
	if f := b.s.c.o.Hooks.Breaker; f != nil {
		b.s.guard(func() { f(open, err) })
	}
}

// probing says whether only one delivery is wanted.
func (b *breaker) probing() bool {
	if b == nil {
		return false
	}
	return b.now() == breakerProbing
}

// pause is how long it is until the next probe; 0: the breaker is closed.
func (b *breaker) pause() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == breakerClosed {
		return 0
	}
	return max(time.Until(b.next), time.Second)
}

// complaint is what an open breaker says in a health report; "": it is closed.
func (b *breaker) complaint() string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == breakerClosed {
		return ""
	}
	return fmt.Sprintf("handlers fail one after another, so nothing is received but a probe now and then; the first error: %v", b.err)
}

// stop ends it with its session.
func (b *breaker) stop() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
