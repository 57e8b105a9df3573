package godwit

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// holds says whether a retry of a claimed delivery waits here, under a renewed lease, instead of with the service.
func (s *session) holds(d *Delivery, after time.Duration) bool {
	switch {
	case s.lim.RetryMax == 0, after < s.lim.RetryMin: // the service cannot keep it
		s.toShelf(d)
		return true
	case after >= s.lim.HoldBelow && !s.laneNearLimit(d):
		return false
	}
	return s.toShelf(d) || s.laneNearLimit(d)
}

// toShelf moves a lane from the places to the shelf, if there is room for it, from its head d on.
func (s *session) toShelf(d *Delivery) bool {
	if s.lim.Keeps { // its window is large, and what waits behind d comes whether there is room or not
		return true
	}
	n, size := d.src.waiting(d)
	if !s.places.shelve(n, size) {
		return false
	}
	d.src.shelve(d, n)
	return true
}

// offShelf moves a lane back, from its head d on.
func (s *session) offShelf(d *Delivery) {
	if n, size := d.src.unshelve(d); n > 0 {
		s.places.unshelve(n, size)
	}
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

// holdUntouched holds a claimed delivery whose handler could not begin its work: that was no attempt. Where there is no room
// for what waits, the service keeps it.
func (s *session) holdUntouched(d *Delivery, after time.Duration) {
	switch {
	case d.lost.Load():
		s.disown(d)
	case s.holds(d, min(after, s.lim.HoldBelow-1)):
		s.shelve(d, after, d.Attempt-1)
	default:
		s.sendBack(d, after)
	}
}

// shelve takes a running delivery back into its lane, as one that was started so often, until it is due.
func (s *session) shelve(d *Delivery, after time.Duration, starts int) {
	if s.log != nil && starts > 0 {
		s.log.Started(d.handle, int32(starts))
	}
	src := s.wait(d, starts)
	s.keeper.hold(d, s.clock.now().plus(after)) // from here on d may run again
	s.oneLess()
	switch { // what empties the keeper may have done so just before
	case d.lost.Load():
		s.dropLost(d)
	case s.polls.Err() != nil, s.gate.closed() && !s.lim.Keeps:
		s.giveBackHeld()
	case src.gone():
		s.dropHeld(src)
	}
}

// wait makes a running delivery one that waits, and was started so often. It still counts as running, so that a shutdown
// waits until it is where it belongs.
func (s *session) wait(d *Delivery, starts int) *source {
	d.Attempt = starts + 1
	d.choice.Store(nil) // the next attempt makes its own choice,
	d.kept.Store(false) // and its caller may keep it again
	d.phase.Store(phaseWaiting)
	d.src.end()
	s.bus.vacate(d)
	s.yield(d)
	return d.src
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

// giveBackHeld gives held retries back, with what is left of their delay where the service can keep that.
func (s *session) giveBackHeld() {
	for _, h := range s.keeper.unhold(nil) {
		s.offShelf(h.d)
		st := driver.Settlement{Action: driver.Release}
		vs := s.unlane(h.d, st)
		if rest := h.until.since(s.clock.now()); len(vs) > 0 && vs[0].d == h.d && !s.lim.Keeps && rest > s.lim.RetryMin && s.lim.RetryMax > 0 {
			vs[0].action, vs[0].after = driver.Retry, s.keepable(rest)
		}
		s.tell(vs...)
	}
}

// giveBackAside gives back what waits for its tenant's share.
func (s *session) giveBackAside() {
	for _, d := range s.tenants.park() {
		s.offShelf(d)
		s.giveBackWaiting(d)
	}
}

// dropLost frees a held retry that is ours no more, so that its lane need not wait until it is due.
func (s *session) dropLost(d *Delivery) {
	if s.keeper.unholdOne(d) {
		s.offShelf(d)
		s.drop(d)
	}
}

// dropHeld frees what is held of a source that is gone.
func (s *session) dropHeld(src *source) {
	for _, h := range s.keeper.unhold(src) {
		s.offShelf(h.d)
		s.drop(h.d)
	}
}

// startLogSize bounds what is remembered; what is forgotten counts a give-back as an attempt, which is on the safe
// side of never ending.
const startLogSize = 100_000

// startLog remembers, for messages that went back to the service, how often they were really started and failed, because the
// service counts every receive.
type startLog struct {
	mu    sync.Mutex
	by    map[string]startNote
	order []string // ring of ids, oldest at next
	next  int
}

type startNote struct{ received, starts, failures int32 }

func newStartLog() *startLog { return &startLog{by: map[string]startNote{}} }

// note says that a delivery goes back after so many starts.
func (l *startLog) note(d *Delivery, starts int) {
	if d.received == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.by[d.ID]; !known {
		if int32(starts) == d.received && d.Failures == 0 { // it need not be remembered; what is, must be replaced
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
	l.by[d.ID] = startNote{d.received, int32(starts), int32(d.Failures)}
}

// attempt is the number of the start that in would get, and how often it has failed as far as is known here.
func (l *startLog) attempt(in *driver.Delivery) (attempt, failures int) {
	if in.Attempt > 0 {
		return int(in.Attempt) + 1, int(in.Attempt)
	}
	l.mu.Lock()
	n, known := l.by[in.ID]
	l.mu.Unlock()
	if known && in.Received > n.received {
		return int(n.starts + in.Received - n.received), int(n.failures)
	}
	return max(1, int(in.Received)), 0
}
