package engine

import (
	"errors"

	"github.com/godwitmq/godwit/driver"
)

// decide returns the verdict for a handler's result. The caller has the item in hand, and does not hold the lock.
func (r *runner) decide(it *Item, cause, err error) Verdict {
	switch {
	case it.isDone(err):
		r.told(true, nil)
		return Verdict{}
	case it.Chosen != nil:
		return r.f.chosen(it, *it.Chosen)
	case errors.Is(cause, ErrProcessingTimeout):
		r.told(false, ErrProcessingTimeout)
		return r.cfg.timedOut(it)
	case errors.Is(cause, ErrShutdown), errors.Is(cause, ErrRevoked), it.lost.Load():
		return Verdict{Action: ActionRelease}
	}
	if wait, busy := r.cfg.Busy(err); busy {
		return Verdict{Action: ActionHold, After: wait}
	}
	if r.cfg.Blame(err) && r.told(false, err) {
		return Verdict{Action: ActionRelease} // no handler could have succeeded, so no attempt is counted
	}
	if it.first == noMoment {
		it.first = r.f.clock.now()
	}
	it.Failures++
	v := r.cfg.Judge(it, err)
	v.Reason = err
	if most := r.f.lim.RetryMax; v.Action == ActionRetry && most > 0 && v.After > most {
		v.Asked, v.After = v.After, most
	}
	r.obs.Failed(it, err, v)
	if v.Action == ActionStop {
		v.Reason = r.cfg.Error("handle", it.ID, err)
	}
	return v
}

// chosen is the verdict that carries out a handler's choice.
func (f *flow) chosen(it *Item, v Verdict) Verdict {
	if v.Action == ActionRelease && it.NearLimit() && !f.stopping() {
		return Verdict{Action: ActionReject, Reason: it.tooOften("released", nil)}
	}
	return v
}

// concludeRunning settles an item whose handler does not return, as the handler has chosen by a method of the delivery.
// It reports false if the handler has chosen nothing. The caller holds the lock.
func (f *flow) concludeRunning(it *Item) bool {
	choice := f.cfg.Choice(it)
	if choice == nil {
		return false
	}
	done := choice.Action == ActionDone
	if done {
		f.breaker.ended(true, nil)
	} else {
		f.undoBehind(it)
	}
	v := f.chosen(it, *choice)
	for again := true; again; {
		var death *driver.Death
		v, death = f.cfg.prepare(it, v)
		v, again = f.carryOut(it, v, death)
	}
	return true
}

// told reports a handler's end to the breaker, and returns whether it is open now.
func (r *runner) told(ok bool, err error) (open bool) {
	if r.f.breaker == nil {
		return false
	}
	r.f.lock()
	defer r.f.unlock()
	return r.f.breaker.ended(ok, err)
}

// timedOut is the verdict on an item whose handler has exceeded its timeout.
func (c *Config) timedOut(it *Item) Verdict {
	return Verdict{Action: ActionReject, Reason: c.Error("handle", it.ID, ErrProcessingTimeout)}
}

// prepare returns a verdict that can be carried out, and the reason for a dead letter. If messages cannot be rejected,
// the session stops instead.
func (c *Config) prepare(it *Item, v Verdict) (Verdict, *driver.Death) {
	switch {
	case v.Action != ActionReject:
		return v, nil
	case c.NoDeadLetters:
		return Verdict{Action: ActionStop, Reason: c.Error("dead-letter", it.ID,
			errors.Join(ErrNoDeadLetters, v.Reason))}, nil
	}
	return v, c.Death(it, v.Reason)
}

// conclude carries out the verdict on an item that a worker or an iterator's caller has in hand. It releases the stint;
// nil if the stint has more items.
func (r *runner) conclude(it *Item, v Verdict, st *stint) {
	f := r.f
	for again := true; again; {
		var death *driver.Death
		v, death = r.cfg.prepare(it, v)
		f.lock()
		if v, again = f.carryOut(it, v, death); !again && st != nil {
			f.stints.release(st)
		}
		f.unlock()
	}
}
