package engine

import "errors"

// decide turns what a handler did into a verdict. The item is in the caller's hands; it runs without the lock.
func (s *Session) decide(it *Item, cause, err error) Verdict {
	b := s.flow.breaker
	if it.Chosen != nil {
		v := *it.Chosen
		if v.Action == ActionRelease && it.NearLimit() && !s.flow.stopping() {
			v = Verdict{Action: ActionReject, Reason: s.flow.tooOften(it, "released", nil)}
		}
		return v
	}
	switch {
	case err == nil:
		b.result(true, nil)
		return Verdict{}
	case errors.Is(cause, ErrProcessingTimeout):
		b.result(false, ErrProcessingTimeout)
		return s.timedOut(it)
	case errors.Is(cause, ErrShutdown), errors.Is(cause, ErrRevoked), it.lost.Load():
		return Verdict{Action: ActionRelease}
	}
	if wait, busy := s.cfg.Busy(err); busy {
		return Verdict{Action: ActionHold, After: wait}
	}
	if s.cfg.Blame(err) && b.result(false, err) {
		return Verdict{Action: ActionRelease} // nobody could have handled it: that is no attempt
	}
	if it.first == noMoment {
		it.first = s.flow.clock.now()
	}
	it.Failures++
	v := s.cfg.Judge(it, err)
	v.Reason = err
	s.obs.Failed(it, err, v)
	if v.Action == ActionStop {
		v.Reason = s.cfg.Error("handle", it.ID, err)
	}
	return v
}

// timedOut is the verdict on an item whose handler has had its time.
func (s *Session) timedOut(it *Item) Verdict {
	return Verdict{Action: ActionReject, Reason: s.cfg.Error("handle", it.ID, ErrProcessingTimeout)}
}
