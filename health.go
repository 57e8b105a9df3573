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

// healthLog collects what Health tells.
type healthLog struct {
	calls callLog

	mu         sync.Mutex
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
	out        map[*Delivery]AbandonedHandler
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

// unhealthyFor is how long a failure is remembered against the consumer when nothing is tried any more, and how long a
// poll may wait for places while handlers are idle.
const unhealthyFor = time.Minute

// fill tells what is known, of a consumer whose polls wait for so long.
func (l *healthLog) fill(h *Health, now time.Time, wait time.Duration) {
	h.LastPoll = l.calls.answered(stagePoll)
	h.Unhealthy = append(h.Unhealthy, l.calls.complaints(now, wait)...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.out {
		h.Abandoned = append(h.Abandoned, a)
	}
	slices.SortFunc(h.Abandoned, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	complain := func(format string, args ...any) { h.Unhealthy = append(h.Unhealthy, fmt.Sprintf(format, args...)) }
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

// lacking says what holds the places, when a poll has waited for them for long although handlers are idle; "": that is not
// so. Handlers that are all busy, here or in the fleet, are no fault but backpressure.
func (s *session) lacking(now time.Time) string {
	since, workers := s.places.lackingSince(), int64(s.c.concurrency())
	running := s.running.Load()
	if since.IsZero() || now.Sub(since) < unhealthyFor || s.pool == nil || running >= workers || s.bus.waiting(s) {
		return ""
	}
	taken, settling, bytes := s.places.held()
	held := s.keeper.holding()
	return fmt.Sprintf("no place has been free for a poll for %v, although %d of %d handlers run: %d deliveries wait behind "+
		"another of their key, %d are held for a retry, %d are being settled, and all have %d bytes",
		now.Sub(since).Round(time.Second), running, workers, max(0, taken-int(running)-held), held, settling, bytes)
}
