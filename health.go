package godwit

import (
	"fmt"
	"slices"
	"sync"
	"time"
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
	// Unhealthy says why the consumer does not do its work; empty: it does.
	Unhealthy []string
}

// AbandonedHandler is a handler that did not return when its time was up.
type AbandonedHandler struct {
	MessageID string
	Since     time.Time
	Stack     string // where it was when it was given up
}

// healthLog collects what Health tells.
type healthLog struct {
	mu         sync.Mutex
	lastPoll   time.Time
	open       int       // polls
	pollOpen   time.Time // when the newest of them began
	pollErr    error     // of the last poll; nil: it was answered
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
	out        map[*Delivery]AbandonedHandler
}

func (l *healthLog) polling() {
	l.mu.Lock()
	l.open++
	l.pollOpen = time.Now()
	l.mu.Unlock()
}

func (l *healthLog) polled(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.pollErr = err
	if err == nil {
		l.lastPoll = time.Now()
	}
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

// abandon notes a handler and returns how many are out now; 0: it has returned meanwhile.
func (l *healthLog) abandon(d *Delivery, stack []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.returned {
		return 0
	}
	if l.out == nil {
		l.out = map[*Delivery]AbandonedHandler{}
	}
	l.out[d] = AbandonedHandler{MessageID: d.ID, Since: time.Now(), Stack: string(stack)}
	return len(l.out)
}

// returned takes back what abandon noted, or is about to note.
func (l *healthLog) returned(d *Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.returned = true
	delete(l.out, d)
}

// unhealthyFor is how long a settle error or an internal fault is remembered against the consumer.
const unhealthyFor = time.Minute

// fill tells what is known. A poll that is open for longer than stalled says that polling hangs.
func (l *healthLog) fill(h *Health, now time.Time, stalled time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.LastPoll = l.lastPoll
	for _, a := range l.out {
		h.Abandoned = append(h.Abandoned, a)
	}
	slices.SortFunc(h.Abandoned, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	complain := func(format string, args ...any) { h.Unhealthy = append(h.Unhealthy, fmt.Sprintf(format, args...)) }
	if l.pollErr != nil {
		complain("receiving fails: %v", l.pollErr)
	}
	if l.open > 0 && now.Sub(l.pollOpen) > stalled {
		complain("no poll has been answered since %v", l.pollOpen)
	}
	if l.settleErr != nil && now.Sub(l.settleWhen) < unhealthyFor {
		complain("a verdict was not taken: %v", l.settleErr)
	}
	if l.faultErr != nil && now.Sub(l.faultWhen) < unhealthyFor {
		complain("an internal panic: %v", l.faultErr)
	}
	if n := len(l.out); n > 0 {
		complain("%d handlers ignore their cancelled context", n)
	}
}
