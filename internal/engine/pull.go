package engine

import "context"

// Next returns items that can start, at most most. It waits for the first one, for a settle error that the caller has
// not seen (failed reports whether there is one), or for the end. The caller settles them with [Item.Settle].
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

// Wake makes Next check again whether there is a settle error.
func (s *Session) Wake() { s.fleet.wakeNow() }

// WakeWhenDone makes Next check again when the session must end; stop reverses this.
func (s *Session) WakeWhenDone() (stop func() bool) {
	return context.AfterFunc(s.polls, s.fleet.wakeNow)
}

// MostAtOnce is the most items that a receive returns.
func (s *Session) MostAtOnce() int { return s.pollers.want() }

// Settle settles an item that Next has returned. It may be called only once for a generation.
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
	if known && !mine {
		f.stints.free(st)
	}
	f.unlock()
	if mine {
		s.runner.conclude(it, s.runner.decide(it, &v, nil, nil), st)
	}
	switch {
	case lost:
		return ErrLeaseLost
	case !mine:
		return ErrSettled
	}
	return nil
}

// TakeBack releases an item that the loop's body has left unsettled, and reports whether it did. The generation must
// not be settled at the same time.
func (it *Item) TakeBack(gen uint32) bool {
	f := it.in.flow
	f.lock()
	st := it.stint
	taken := it.gen == gen && st != nil && st.has(it)
	if taken {
		f.stints.returned(st, f.clock.now())
		f.carryOut(it, Verdict{Action: ActionRelease})
		f.stints.free(st)
	}
	f.unlock()
	return taken
}
