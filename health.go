package godwit

import (
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/engine"
)

// Health is the state of a consumer.
type Health struct {
	State State
	Since time.Time
	// LastPoll is the last poll that was answered without an error, or refused because the channel is paused at the
	// service; zero: none.
	LastPoll time.Time
	Running  int       // running handlers
	Oldest   time.Time // when the oldest running handler began; zero: none runs
	// Abandoned are the handlers that ignore the end of their context.
	Abandoned []AbandonedHandler
	Paused    bool // Pause was called
	// PausedAtService is set while an operator has paused the channel (`godwit pause`). The consumer is healthy, and
	// goes on by itself when the channel is resumed.
	PausedAtService bool
	// PollHangs: the service has not answered polls for a while, neither with messages nor with an error. It is among
	// the reasons of Unhealthy.
	PollHangs bool
	// BreakerOpen: the consumer does not receive, because handlers fail one after another. It is among the reasons of
	// Unhealthy.
	BreakerOpen bool
	// Unhealthy has the reasons why the consumer does not work: each stage whose calls to the service stall, within a
	// minute, and everything else that prevents messages from being handled. It is empty if the consumer works.
	Unhealthy []string
	// ProcessingTimeout and ShutdownTimeout are those of the consumer's options.
	ProcessingTimeout, ShutdownTimeout time.Duration
}

// AbandonedHandler is a handler that did not return after its context was canceled.
type AbandonedHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // the stack when it was abandoned
}

// holdReported is how long deliveries are held for the same outage before health reports it, since single failures are
// normal.
const holdReported = 15 * time.Second

// healthLog collects the facts for Health that the session does not have.
type healthLog struct {
	calls calls.Log

	mu         sync.Mutex
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
	holdErr    error
	holdSince  time.Time // the first of the holds that followed each other within calls.FailureLasts
	holdWhen   time.Time
}

func (l *healthLog) settleFailed(err error) {
	l.mu.Lock()
	l.settleErr, l.settleWhen = err, time.Now()
	l.mu.Unlock()
}

func (l *healthLog) fault(err error) {
	l.mu.Lock()
	l.faultErr, l.faultWhen = err, time.Now()
	l.mu.Unlock()
}

// held notes that a delivery is held, because its handler cannot work.
func (l *healthLog) held(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.holdErr == nil || now.Sub(l.holdWhen) >= calls.FailureLasts {
		l.holdSince = now
	}
	l.holdErr, l.holdWhen = err, now
}

// recent returns the last panic, if it was a short while ago.
func (l *healthLog) recent(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faultErr == nil || now.Sub(l.faultWhen) >= calls.FailureLasts {
		return nil
	}
	return l.faultErr
}

// Health returns the consumer's current state.
func (c *Consumer) Health() Health {
	h := Health{}
	h.State, h.Since = c.state.now()
	c.mu.Lock()
	s := c.session
	h.Paused = c.paused
	c.mu.Unlock()
	now := time.Now()
	var known engine.Health
	if s != nil {
		known = s.Health(now)
	}
	c.health.fill(&h, now, max(c.o.WaitTime, 0), &known)
	h.ProcessingTimeout, h.ShutdownTimeout = c.o.ProcessingTimeout, c.o.ShutdownTimeout
	return h
}

// SlowHandler is a handler that has been running for long.
type SlowHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // where it is now; "": an iterator's caller has the delivery
}

// Slow returns the handlers that have been running for at least so long, the oldest first, with their stacks. It stops
// all goroutines for a moment, so call it when somebody wants to know, and not regularly.
func (c *Consumer) Slow(longer time.Duration) (slow []SlowHandler) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	for _, one := range s.Slow(time.Now(), longer) {
		slow = append(slow, SlowHandler{MessageID: one.ID, Since: one.Since, Stack: one.Stack})
	}
	return slow
}

// fill sets the fields of h. wait is the longest wait of the consumer's polls.
func (l *healthLog) fill(h *Health, now time.Time, wait time.Duration, known *engine.Health) {
	h.LastPoll, h.Running, h.Oldest = l.calls.Answered(calls.Poll), known.Running, known.Oldest
	h.PausedAtService = known.Paused
	h.PollHangs, h.BreakerOpen = l.calls.Hangs(calls.Poll, now, wait), known.BreakerOpen
	h.Unhealthy = append(h.Unhealthy, l.calls.Complaints(now, wait)...)
	for _, a := range known.Abandoned {
		h.Abandoned = append(h.Abandoned, AbandonedHandler{MessageID: a.ID, Since: a.Since, Stack: a.Stack})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	complain := func(format string, args ...any) { h.Unhealthy = append(h.Unhealthy, fmt.Sprintf(format, args...)) }
	if l.settleErr != nil && now.Sub(l.settleWhen) < calls.FailureLasts {
		complain("a delivery could not be settled: %v", l.settleErr)
	}
	if l.faultErr != nil && now.Sub(l.faultWhen) < calls.FailureLasts {
		complain("an internal panic: %v", l.faultErr)
	}
	if lasts := l.holdWhen.Sub(l.holdSince); l.holdErr != nil && lasts >= holdReported &&
		now.Sub(l.holdWhen) < calls.FailureLasts {
		complain("deliveries have been held for %v, because their handlers cannot work: %v", lasts.Round(time.Second),
			l.holdErr)
	}
	if n := len(known.Abandoned); n > 0 {
		complain("%d handlers ignore the end of their context", n)
	}
	h.Unhealthy = append(h.Unhealthy, known.Complaints...)
}
