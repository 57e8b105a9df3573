package godwit

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// holds says whether a retry waits here, under a renewed lease, instead of with the service.
func (s *session) holds(after time.Duration) bool {
	return s.lim.RetryMax == 0 || after < s.lim.RetryMin
}

// heldTooLong says whether a delivery would be held for longer after its first failure than the backend allows.
func (s *session) heldTooLong(d *Delivery, after time.Duration) bool {
	now := s.clock.now()
	if d.first == noMoment {
		d.first = now
	}
	return s.lim.HoldMax > 0 && now.plus(after).since(d.first) > s.lim.HoldMax
}

// keepable is the delay as the service can keep it.
func (s *session) keepable(after time.Duration) time.Duration {
	return min(max(after, s.lim.RetryMin), s.lim.RetryMax)
}

// hold lets the key wait while the worker goes on: the delivery stays the head of its lane.
func (s *session) hold(d *Delivery, after time.Duration) {
	s.count.retried.Add(1)
	s.shelve(d, after, d.Attempt)
}

// holdUntouched holds a claimed delivery whose handler could not begin its work: that was no attempt.
func (s *session) holdUntouched(d *Delivery, after time.Duration) {
	if d.lost.Load() {
		s.disown(d)
		return
	}
	s.shelve(d, after, d.Attempt-1)
}

// shelve takes a running delivery back into its lane, as one that was started so often, until it is due.
func (s *session) shelve(d *Delivery, after time.Duration, starts int) {
	if s.log != nil && starts > 0 {
		s.log.Started(d.handle, int32(starts))
	}
	d.Attempt = starts + 1
	d.choice.Store(nil) // the next attempt chooses anew,
	d.kept.Store(false) // and is kept anew
	d.phase.Store(phaseWaiting)
	d.src.end()
	src := d.src // d may run again as soon as the keeper has it
	s.keeper.hold(d, s.clock.now().plus(after))
	s.stopped(d)
	switch { // what empties the keeper may have done so just before
	case d.lost.Load():
		s.dropLost(d)
	case s.polls.Err() != nil, s.gate.closed() && !s.lim.Keeps:
		s.giveBackHeld()
	case src.gone():
		s.dropHeld(src)
	}
}

// resume makes the waiting head of a lane runnable.
func (s *session) resume(d *Delivery) {
	if to, _ := s.tenants.admit(d, true); to == admitted {
		s.offer(d)
	}
}

// offer puts the head of a lane on the bus.
func (s *session) offer(d *Delivery) {
	if !s.bus.push(s, d, d, 1) {
		s.giveBackWaiting(d)
	}
}

func (s *session) giveBackHeld() {
	for _, d := range s.keeper.unhold(nil) {
		s.giveBackWaiting(d)
	}
}

// giveBackAside gives back what waits for its tenant's share.
func (s *session) giveBackAside() {
	for _, d := range s.tenants.park() {
		s.giveBackWaiting(d)
	}
}

// dropLost frees a held retry that is ours no more, so that its lane need not wait until it is due.
func (s *session) dropLost(d *Delivery) {
	if s.keeper.unholdOne(d) {
		s.drop(d)
	}
}

// dropHeld frees what is held of a source that is gone.
func (s *session) dropHeld(src *source) {
	for _, d := range s.keeper.unhold(src) {
		s.drop(d)
	}
}

// startLogSize bounds what is remembered; what is forgotten counts a give-back as an attempt, which is on the safe
// side of never ending.
const startLogSize = 100_000

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
	if d.received == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.by[d.ID]; !known {
		if int32(starts) == d.received { // it need not be remembered; what is, must be replaced
			return
		}
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
