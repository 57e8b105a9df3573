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
	tick[stint] // when its time is up
	worker      *worker
	ctx         *handlerContext // for its timeout, lost leases and shutdown; nil: an iterator's caller cannot be cancelled
	ds          []*Delivery
	single      [1]*Delivery // what ds is made of without a batch
	begun       moment
	late        bool // its timeout has cancelled it: the tick is now when it counts as abandoned
	lost        int  // leases
}

// newStint makes the stint of a worker; nil: of an iterator's caller.
func newStint(w *worker) *stint {
	st := &stint{worker: w}
	st.of = st
	return st
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
	st.ds, st.ctx, st.begun, st.late, st.lost = ds, ctx, begun, false, 0
	for _, d := range ds {
		d.stint = st
	}
	k.stints.insert(&st.tick, deadline)
	k.meter.began(begun, k.s.c.o.Delay, k.s.clock, ds)
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
	k.stints.remove(&st.tick)
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
	for n := k.stints.head; n != nil; n = n.next {
		n.of.interrupt(cause)
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
	for n := k.stints.head; n != nil; n = n.next {
		ds = append(ds, n.of.ds...)
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
	for n := k.stints.head; n != nil; n = n.next {
		begun = min(begun, n.of.begun)
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
	for st := k.stints.pop(now); st != nil; st = k.stints.pop(now) {
		if st.late {
			stuck = append(stuck, stray{st.worker, slices.Clone(st.ds)})
			k.stints.insert(&st.tick, never) // still to be found by shutdown
			continue
		}
		late = append(late, st.ds[0])
		st.late = true
		st.interrupt(ErrProcessingTimeout)
		k.stints.insert(&st.tick, now.plus(abandonAfter))
	}
	return late, stuck
}
