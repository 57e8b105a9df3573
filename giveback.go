package godwit

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// keptPause is how long a delivery that was given back untouched waits where it cannot go back (a log keeps what it
// handed out): long enough that a handler that gives back again and again does not spin.
const keptPause = time.Second

// giveBack returns a running delivery untouched, and behind it its lane, in order.
func (s *session) giveBack(d *Delivery) {
	if d.lost.Load() { // it is not ours to give
		s.disown(d)
		return
	}
	if s.lim.Keeps && s.polls.Err() == nil && !d.src.gone() {
		s.gaveBack(d)
		s.shelve(d, max(keptPause, s.breaker.pause()), d.Attempt-1)
		return
	}
	if pause := s.breaker.pause(); pause > 0 && d.lane == 0 && s.polls.Err() == nil && s.lim.RetryMax > 0 {
		s.tellAway(d, pause)
		s.stopped(d)
		return
	}
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	s.settle(d, driver.Settlement{Action: driver.Release}, driver.BehindReleases)
}

// tellAway sends a delivery without a lane back untouched, for a while.
func (s *session) tellAway(d *Delivery, pause time.Duration) {
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	s.places.settle()
	s.tell(verdict{d: d, action: driver.Retry, after: s.keepable(pause), attempt: int32(d.Attempt - 1), untouched: true})
}

// giveBackWaiting returns the head of a lane that never started, and behind it its lane, in order.
func (s *session) giveBackWaiting(d *Delivery) {
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
	s.giveBackWaiting(next)
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
