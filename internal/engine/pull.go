package engine

import "context"

// Next takes what is runnable, at most so many items; it waits for the first, for a settle error that nobody has seen
// (seen says whether there is one), or for the end. Its caller settles them by [Item.Settle].
func (s *Session) Next(most int, failed func() bool) (its []*Item) {
	stop := func() bool {
		return s.polls.Err() != nil || failed() || len(its) > 0 && !s.flow.queue.runnable()
	}
	for len(its) < most {
		it := s.fleet.next(new(stint), stop)
		if it == nil {
			return its
		}
		if it.Err != nil {
			s.runner.reject(it, it.stint)
			continue
		}
		its = append(its, it)
	}
	return its
}

// Wake makes Next look again whether there is a settle error.
func (s *Session) Wake() { s.fleet.wakeNow() }

// WakeWhenDone makes Next look again once the session must end; stop takes that back.
func (s *Session) WakeWhenDone() (stop func() bool) {
	return context.AfterFunc(s.polls, s.fleet.wakeNow)
}

// MostAtOnce is how many items a receive returns at most.
func (s *Session) MostAtOnce() int { return s.pollers.want() }

// Settle settles an item that Next has returned. Only one call for a generation may be made.
func (it *Item) Settle(gen uint32, v Verdict) error {
	s := it.in
	f := s.flow
	f.lock()
	st := it.stint
	known := it.gen == gen && st != nil
	lost := known && it.lost.Load()
	mine := known && st.has(it)
	if known {
		f.stints.returned(st, f.clock.now())
	}
	f.unlock()
	if !known {
		return ErrSettled
	}
	if mine {
		it.Chosen = &v
		s.runner.conclude(it, s.runner.decide(it, nil, nil), st)
	} else {
		f.stints.over(st)
	}
	switch {
	case lost:
		return ErrLeaseLost
	case !mine:
		return ErrSettled
	}
	return nil
}

// TakeBack gives an item back that the loop's body has left unsettled, and says whether it did. Nobody else may settle
// the generation meanwhile.
func (it *Item) TakeBack(gen uint32) bool {
	f := it.in.flow
	f.lock()
	st := it.stint
	taken := it.gen == gen && st != nil && st.has(it)
	if taken {
		f.stints.returned(st, f.clock.now())
		f.carryOut(it, Verdict{Action: ActionRelease}, nil)
		f.stints.release(st)
	}
	f.unlock()
	return taken
}
