package godwit

import "github.com/godwitmq/godwit/driver"

// giveBack returns a running delivery untouched, and behind it its lane, in order.
func (s *session) giveBack(d *Delivery) {
	if d.lost.Load() { // it is not ours to give
		s.stopped(d)
		s.disown(d)
		return
	}
	s.starts.note(d, d.Attempt-1)
	s.gaveBack(d)
	s.settle(d, driver.Settlement{Action: driver.Release}, true)
}

// giveBackWaiting returns the head of a lane that never started, and behind it its lane, in order.
func (s *session) giveBackWaiting(d *Delivery) { s.tell(s.unlane(d)...) }

// unlane takes a lane apart, from its waiting head on, into verdicts that give it back.
func (s *session) unlane(head *Delivery) []verdict {
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
			vs = append(vs, verdict{d, driver.Settlement{Handle: d.handle, Action: driver.Release}})
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
}

// forget frees what a delivery holds that will never be settled.
func (s *session) forget(d *Delivery) {
	d.phase.Store(phaseSettled)
	s.keeper.forget(d)
	s.places.free(1)
	s.places.bytes.release(d.size)
}
