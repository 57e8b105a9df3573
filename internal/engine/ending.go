package engine

import (
	"errors"

	"github.com/godwitmq/godwit/driver"
)

// decide turns what a handler did into a verdict. The item is in the caller's hands; it runs without the lock.
func (r *runner) decide(it *Item, cause, err error) Verdict {
	if it.Chosen != nil {
		v := *it.Chosen
		if v.Action == ActionRelease && it.NearLimit() && !r.f.stopping() {
			v = Verdict{Action: ActionReject, Reason: it.tooOften("released", nil)}
		}
		return v
	}
	switch {
	case err == nil:
		r.told(true, nil)
		return Verdict{}
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
		return Verdict{Action: ActionRelease} // nobody could have handled it: that is no attempt
	}
	if it.first == noMoment {
		it.first = r.f.clock.now()
	}
	it.Failures++
	v := r.cfg.Judge(it, err)
	v.Reason = err
	r.obs.Failed(it, err, v)
	if v.Action == ActionStop {
		v.Reason = r.cfg.Error("handle", it.ID, err)
	}
	return v
}

// told tells the breaker of a handler's end, and says whether it is open now.
func (r *runner) told(ok bool, err error) (open bool) {
	if r.f.breaker == nil {
		return false
	}
	r.f.lock()
	defer r.f.unlock()
	return r.f.breaker.ended(ok, err)
}

// timedOut is the verdict on an item whose handler has had its time.
func (c *Config) timedOut(it *Item) Verdict {
	return Verdict{Action: ActionReject, Reason: c.Error("handle", it.ID, ErrProcessingTimeout)}
}

// prepare makes what a verdict needs that is carried out: the reasons that travel with a dead letter. Where there is
// nowhere to reject to, the session stops instead.
func (c *Config) prepare(it *Item, v Verdict) (Verdict, *driver.Death) {
	switch {
	case v.Action != ActionReject:
		return v, nil
	case c.NoDeadLetters:
		return Verdict{Action: ActionStop, Reason: c.Error("dead-letter", it.ID, errors.Join(ErrNoDeadLetters, v.Reason))}, nil
	}
	return v, c.Death(it, v.Reason)
}

// conclude carries out the verdict on an item that a worker or an iterator's caller has in hand, and lets go of its
// stint; nil: that has other items still.
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
