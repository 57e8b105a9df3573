package godwit

import (
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/engine"
)

// Health is how a consumer is doing.
type Health struct {
	State    State
	Since    time.Time
	LastPoll time.Time // when a poll was last answered without an error; zero: never
	Running  int       // handlers
	Oldest   time.Time // when the oldest running handler began; zero: none runs
	// Abandoned are the handlers that ignore their cancelled context.
	Abandoned []AbandonedHandler
	Paused    bool
	// Unhealthy says why the consumer does not do its work: each stage whose calls to the service stall, within a minute
	// of that, and what else keeps messages from being handled. Empty: it does its work.
	Unhealthy []string
}

// AbandonedHandler is a handler that did not return when its time was up.
type AbandonedHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // where it was when it was given up
}

// healthLog collects what Health tells and the session does not know.
type healthLog struct {
	calls calls.Log

	mu         sync.Mutex
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
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

// Health is how the consumer is doing now.
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
	return h
}

// fill tells what is known, of a consumer whose polls wait for so long.
func (l *healthLog) fill(h *Health, now time.Time, wait time.Duration, known *engine.Health) {
	h.LastPoll, h.Running, h.Oldest = l.calls.Answered(calls.Poll), known.Running, known.Oldest
	h.Unhealthy = append(h.Unhealthy, l.calls.Complaints(now, wait)...)
	for _, a := range known.Abandoned {
		h.Abandoned = append(h.Abandoned, AbandonedHandler{MessageID: a.ID, Since: a.Since, Stack: a.Stack})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	complain := func(format string, args ...any) { h.Unhealthy = append(h.Unhealthy, fmt.Sprintf(format, args...)) }
	if l.settleErr != nil && now.Sub(l.settleWhen) < calls.FailureLasts {
		complain("a verdict was not taken: %v", l.settleErr)
	}
	if l.faultErr != nil && now.Sub(l.faultWhen) < calls.FailureLasts {
		complain("an internal panic: %v", l.faultErr)
	}
	if n := len(known.Abandoned); n > 0 {
		complain("%d handlers ignore their cancelled context", n)
	}
	h.Unhealthy = append(h.Unhealthy, known.Complaints...)
}
