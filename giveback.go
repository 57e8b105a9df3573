package godwit

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// keptPause is how long a delivery that was given back untouched waits where it cannot go back (a log keeps what it
// handed out): long enough that a handler that gives back again and again does not spin.
const keptPause = time.Second

// nearLimit says whether the service itself is about to dead-letter a message, without a reason. Then a delivery is kept rather
// than released, and only a stop gives it back.
func (s *session) nearLimit(d *Delivery) bool {
	most := s.lim.MaxReceives
	return most > 0 && int(d.received) >= most-most/10
}

// laneNearLimit says whether a delivery that waits in d's lane, behind it, is near the limit.
func (s *session) laneNearLimit(d *Delivery) bool {
	return s.lim.MaxReceives > 0 && d.lane != 0 && d.src.some(d.src.behind(d), s.nearLimit)
}

func (s *session) tooManyReceives(d *Delivery, what string, err error) error {
	return &tooManyReceives{int(d.received), s.lim.MaxReceives, what, err}
}

// released is what becomes of a delivery that its handler releases.
func (s *session) released(d *Delivery) ending {
	if s.nearLimit(d) && s.polls.Err() == nil {
		return ending{d: d, v: Verdict{Action: Reject}, reason: s.tooManyReceives(d, "released", nil)}
	}
	return ending{d: d, fate: fateReleased}
}

// giveBack returns a running delivery untouched, and behind it its lane, in order.
func (s *session) giveBack(d *Delivery) {
	stops := s.polls.Err() != nil || d.src.gone()
	if !stops && !s.lim.Keeps && !d.lost.Load() {
		if keep, away := s.breaker.keeps(d); keep {
			s.wait(d, d.Attempt-1)
			s.resume(d)
			s.oneLess()
			return
		} else if away > 0 && s.lim.RetryMax > 0 {
			s.sendBack(d, away)
			return
		}
	}
	switch {
	case d.lost.Load(): // it is not ours to give
		s.disown(d)
	case !stops && s.lim.Keeps:
		s.gaveBack(d)
		s.shelve(d, max(keptPause, s.breaker.pause()), d.Attempt-1)
	case !stops && (s.nearLimit(d) || s.laneNearLimit(d)):
		s.toShelf(d)
		s.shelve(d, keptPause, d.Attempt-1)
	default:
		s.starts.note(d, d.Attempt-1)
		s.gaveBack(d)
		s.settle(d, driver.Settlement{Action: driver.Release}, driver.BehindReleases)
	}
}

// sendBack gives a running delivery back untouched, for a while, and behind it its lane.
func (s *session) sendBack(d *Delivery, pause time.Duration) {
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	v := verdict{d: d, action: driver.Retry, after: s.keepable(pause), attempt: int32(d.Attempt - 1), untouched: true}
	next := d.src.leave(d)
	s.places.settle()
	s.tell(append([]verdict{v}, s.unlane(next, behindIt(v.settlement(), s.lim.Behind))...)...)
	s.stopped(d)
}

// tellAway sends a delivery without a lane back that never started, for a while.
func (s *session) tellAway(d *Delivery, pause time.Duration) {
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	s.places.settle()
	s.tell(verdict{d: d, action: driver.Retry, after: s.keepable(pause), attempt: int32(d.Attempt - 1), untouched: true})
}

// giveBackWaiting returns the head of a lane that never started, and behind it its lane, in order. While the session goes on,
// a lane near the service's limit is kept and tried again.
func (s *session) giveBackWaiting(d *Delivery) {
	if d != nil && s.polls.Err() == nil && !d.src.gone() && !d.lost.Load() && (s.nearLimit(d) || s.laneNearLimit(d)) {
		s.yield(d)
		s.toShelf(d)
		s.keeper.hold(d, s.clock.now().plus(keptPause))
		if s.polls.Err() != nil { // what empties the keeper may have done so just before
			s.giveBackHeld()
		}
		return
	}
	s.releaseWaiting(d)
}

// releaseWaiting is giveBackWaiting whatever the service's limit.
func (s *session) releaseWaiting(d *Delivery) {
	s.tell(s.unlane(d, driver.Settlement{Action: driver.Release})...)
}

// unlane takes a lane apart, from its waiting head on, into verdicts that settle nothing of it as started.
func (s *session) unlane(head *Delivery, st driver.Settlement) []verdict {
	var vs []verdict
	for d := head; d != nil; {
		next := d.src.leave(d)
		if d.lost.Load() || !d.src.begin() {
			s.forget(d)
		} else {
			d.phase.Store(phaseSettled)
			s.starts.note(d, d.Attempt-1)
			s.gaveBack(d)
			s.places.settle()
			v := verdictOn(d, st)
			v.attempt, v.untouched = int32(d.Attempt-1), true
			vs = append(vs, v)
			s.yield(d)
		}
		d = next
	}
	return vs
}

func (s *session) gaveBack(d *Delivery) {
	observe(s, s.c.o.Hooks.GivenBack, d)
}

// drop disposes of the head of a lane that cannot start: its lease is lost, or its source.
func (s *session) drop(d *Delivery) {
	next := d.src.leave(d)
	s.forget(d)
	s.releaseWaiting(next)
}

// disown disposes of a delivery that lost its lease while it ran. Its lane goes back: the lost one may be handled
// elsewhere now, and those behind it must not overtake it here.
func (s *session) disown(d *Delivery) {
	d.src.end()
	s.drop(d)
	s.stopped(d) // at last: a shutdown waits until its lane is on its way back
}

// forget frees what a delivery holds that will never be settled.
func (s *session) forget(d *Delivery) {
	d.phase.Store(phaseSettled)
	s.yield(d)
	s.keeper.forget(d)
	s.places.giveBack(1)
	s.places.bytes.release(d.size)
}
