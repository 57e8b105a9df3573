package godwit

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// holds says whether a retry waits in its lane, under a renewed lease, instead of with the service.
func (s *session) holds(d *Delivery, after time.Duration) bool {
	if s.lim.RetryMax == 0 {
		return true
	}
	return d.lane != 0 && after < s.lim.RetryMin
}

// keepable is the delay as the service can keep it.
func (s *session) keepable(after time.Duration) time.Duration {
	return min(max(after, s.lim.RetryMin), s.lim.RetryMax)
}

// hold lets the key wait while the worker goes on: the delivery stays the head of its lane.
func (s *session) hold(d *Delivery, after time.Duration) {
	d.Attempt++
	d.choice.Store(nil) // the next attempt chooses anew,
	d.kept.Store(false) // and is kept anew
	d.phase.Store(phaseWaiting)
	d.src.end()
	s.count.retried.Add(1)
	s.keeper.hold(d, time.Now().Add(after))
	s.stopped(d)
	if s.polls.Err() != nil || s.gate.closed() { // shutdown or a pause may have emptied the keeper just before
		s.giveBackHeld()
	}
}

// resume makes a held retry that is due runnable.
func (s *session) resume(d *Delivery) {
	if !s.bus.push(s, d, d, 1) {
		s.giveBackWaiting(d)
	}
}

func (s *session) giveBackHeld() {
	for _, d := range s.keeper.unhold() {
		s.giveBackWaiting(d)
	}
}

// startLogSize bounds what is remembered; what is forgotten counts a give-back as an attempt, which is on the safe
// side of never ending.
const startLogSize = 10_000

// startLog remembers, for messages that went back to the service, how often they were really started, because the
// service counts every receive.
type startLog struct {
	mu    sync.Mutex
	by    map[string]startNote
	order []string // ring of ids, oldest at next
	next  int
}

type startNote struct{ received, starts int32 }

func newStartLog() *startLog { return &startLog{by: map[string]startNote{}} }

// note says that a delivery goes back after so many starts.
func (l *startLog) note(d *Delivery, starts int) {
	if d.received == 0 || int32(starts) == d.received {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.by[d.ID]; !known {
		if len(l.order) < startLogSize {
			l.order = append(l.order, d.ID)
		} else {
			delete(l.by, l.order[l.next])
			l.order[l.next] = d.ID
			l.next = (l.next + 1) % startLogSize
		}
	}
	l.by[d.ID] = startNote{d.received, int32(starts)}
}

// attempt is the number of the start that in would get.
func (l *startLog) attempt(in *driver.Delivery) int {
	if in.Attempt > 0 {
		return int(in.Attempt) + 1
	}
	l.mu.Lock()
	n, known := l.by[in.ID]
	l.mu.Unlock()
	if known && in.Received > n.received {
		return int(n.starts + in.Received - n.received)
	}
	return max(1, int(in.Received))
}
