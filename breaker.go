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

// breaker stops a consumer from receiving while its handlers fail one after another: what comes then would only use its
// attempts up. From time to time one delivery is let through; the first that is handled ends it. A nil breaker never
// opens.
type breaker struct {
	s       *session
	circuit *circuit.Breaker

	turn sync.Mutex // one change of state at a time, with what the session does about it

	mu    sync.Mutex
	state breakerState
	err   error     // why it opened
	next  time.Time // when the next probe may go, unless it is closed
	timer *time.Timer
	ended bool
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
	b.turn.Lock()
	defer b.turn.Unlock()
	wait, open := b.circuit.Open(time.Now())
	switch was := b.now(); {
	case !open && was != breakerClosed:
		b.set(breakerClosed, nil, 0)
		b.s.letIn(holdBroken)
		b.told(false, nil)
	case open && was == breakerClosed:
		b.set(breakerOpen, err, wait)
		b.s.holdBack(holdBroken)
		b.told(true, err)
	case open && was == breakerProbing && !ok:
		b.set(breakerOpen, err, wait)
		b.s.holdBack(holdBroken)
	}
	return open
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
	b.s.probe()
}

// polled keeps pollers back again once a probe has brought something.
func (b *breaker) polled(n int) {
	if n == 0 || !b.probing() {
		return
	}
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.now() == breakerProbing {
		b.s.gate.shut(holdBroken, func() {})
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
