package godwit

import (
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
	pollOpen   time.Time // when the newest open poll began
	pollErr    error     // of the last poll; nil: it was answered
	settleErr  error
	settleWhen time.Time
	faultErr   error
	faultWhen  time.Time
	out        map[*Delivery]AbandonedHandler
}

func (l *healthLog) polling() {
	l.mu.Lock()
	l.pollOpen = time.Now()
	l.mu.Unlock()
}

func (l *healthLog) polled(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *healthLog) abandoned() []AbandonedHandler {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []AbandonedHandler
	for _, a := range l.out {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	return out
}
