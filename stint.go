package godwit

import (
	"errors"
	"slices"
	"time"
)

// abandonAfter is how long a handler has to return once its processing timeout has cancelled it.
const abandonAfter = time.Second

// stint is one call of a handler, with one delivery or a batch, or the time for which the caller of an iterator has a
// delivery. A worker has one stint after another, and uses the same again. Guarded by keeper.mu.
type stint struct {
	worker   *worker         // nil: an iterator's caller
	ctx      *handlerContext // for its timeout, lost leases and shutdown; nil: an iterator's caller cannot be cancelled
	ds       []*Delivery
	single   [1]*Delivery // what ds is made of without a batch
	begun    moment
	deadline moment // when its time is up; never: not any more
	late     bool   // its timeout has cancelled it: the deadline is now when it counts as abandoned
	lost     int    // leases
	at       int    // where it stands in keeper.stints
}

// with is a single delivery, for started.
func (st *stint) with(d *Delivery) []*Delivery {
	st.single[0] = d
	return st.single[:]
}

// started puts a handler under watch.
func (k *keeper) started(st *stint, ds []*Delivery, ctx *handlerContext, begun, deadline moment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st.ds, st.ctx, st.begun, st.deadline, st.late, st.lost = ds, ctx, begun, deadline, false, 0
	for _, d := range ds {
		d.stint = st
	}
	st.at = len(k.stints)
	k.stints = append(k.stints, st)
	k.meter.began(begun, k.s.clock, ds)
	k.due(deadline)
	if k.tickAt == never {
		k.tickAt = begun.plus(paceInterval)
		k.due(k.tickAt)
	}
}

// ended takes the handler of a delivery, and of all that it has together with it, out of the keeper's sight, and says
// whether its timeout had passed.
func (k *keeper) ended(d *Delivery, now moment) (late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := d.stint
	k.meter.over(len(st.ds), st.begun, now)
	last := len(k.stints) - 1
	k.stints[last].at = st.at
	k.stints[st.at], k.stints[last] = k.stints[last], nil
	k.stints = k.stints[:last]
	for _, one := range st.ds {
		one.stint = nil
	}
	st.ds = nil
	return st.late
}

// interrupt cancels the handler of a delivery, if it has one.
func (k *keeper) interrupt(d *Delivery, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.stint != nil {
		d.stint.interrupt(cause)
	}
}

// interruptAll cancels every handler that runs.
func (k *keeper) interruptAll(cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, st := range k.stints {
		st.interrupt(cause)
	}
}

// interrupt cancels the handler. Losing the lease of one of several deliveries does not: only when all are lost there is
// nothing left to work for.
func (st *stint) interrupt(cause error) {
	if errors.Is(cause, ErrLeaseLost) {
		if st.lost++; st.lost < len(st.ds) {
			return
		}
	}
	if st.ctx != nil {
		st.ctx.interrupt(cause)
	}
}

// remaining is what has been started and not yet ended; of a batch, a lane is in order.
func (k *keeper) remaining() (ds []*Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, st := range k.stints {
		ds = append(ds, st.ds...)
	}
	return ds
}

// workerOf is who runs a delivery; nil: nobody does, or the caller of an iterator.
func (k *keeper) workerOf(d *Delivery) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.stint == nil {
		return nil
	}
	return d.stint.worker
}

// oldest is when the handler that has run the longest began; never: none runs.
func (k *keeper) oldest() moment {
	k.mu.Lock()
	defer k.mu.Unlock()
	begun := never
	for _, st := range k.stints {
		begun = min(begun, st.begun)
	}
	return begun
}

// stray is a handler that goes on although it was cancelled.
type stray struct {
	worker *worker
	ds     []*Delivery
}

// overdue cancels the handlers whose timeout has passed, and returns the first delivery of each, and those that were
// cancelled before and still run. The caller holds k.mu.
func (k *keeper) overdue(now moment) (late []*Delivery, stuck []stray) {
	for _, st := range k.stints {
		switch {
		case st.deadline > now:
		case st.late:
			stuck = append(stuck, stray{st.worker, slices.Clone(st.ds)})
			st.deadline = never
		default:
			late = append(late, st.ds[0])
			st.late, st.deadline = true, now.plus(abandonAfter)
			st.interrupt(ErrProcessingTimeout)
		}
	}
	return late, stuck
}

// firstDeadline is when the first handler has had its time. The caller holds k.mu.
func (k *keeper) firstDeadline() moment {
	at := never
	for _, st := range k.stints {
		at = min(at, st.deadline)
	}
	return at
}
