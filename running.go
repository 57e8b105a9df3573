package godwit

import (
	"errors"
	"time"
)

// abandonAfter is how long a handler has to return once its processing timeout has cancelled it.
const abandonAfter = time.Second

// running is what the keeper knows of a delivery's handler. Guarded by keeper.mu.
type running struct {
	tick
	begun time.Time
	late  bool // its timeout has cancelled it: the tick is now when it counts as abandoned
	mate  bool // of a batch whose first delivery stands for all when their time is up
}

// started puts a handler under watch: cancel is for its timeout, a lost lease and shutdown.
func (k *keeper) started(d *Delivery, cancel interrupter, begun, deadline time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.run(d, cancel, begun, deadline, false)
	k.began(begun, deadline, d)
}

// run puts a delivery among those that run. The caller holds k.mu.
func (k *keeper) run(d *Delivery, cancel interrupter, begun, deadline time.Time, mate bool) {
	d.cancel = cancel
	d.running.begun, d.running.late, d.running.mate = begun, false, mate
	k.runs.insert(d, deadline)
}

// began takes in that a handler has begun. The caller holds k.mu.
func (k *keeper) began(begun, deadline time.Time, ds ...*Delivery) {
	k.meter.began(begun, k.s.c.o.Delay, ds...)
	if k.tickAt.IsZero() {
		k.tickAt = begun.Add(paceInterval)
		k.due(k.tickAt)
	}
	k.due(deadline)
}

// startedTogether puts the handler of a batch under watch. Losing the lease of one does not cancel it: only when all
// are lost there is nothing left to work for.
func (k *keeper) startedTogether(w *worker, ds []*Delivery, ctx *handlerContext, begun, deadline time.Time) {
	together := &together{ctx, len(ds)}
	k.mu.Lock()
	defer k.mu.Unlock()
	w.batch = ds
	for i, d := range ds {
		d.worker = w
		k.run(d, together, begun, deadline, i > 0)
	}
	k.began(begun, deadline, ds...)
}

// together is the context of a batch. Guarded by keeper.mu.
type together struct {
	ctx  *handlerContext
	left int // deliveries whose lease is not lost
}

func (t *together) interrupt(cause error) {
	if errors.Is(cause, ErrLeaseLost) {
		if t.left--; t.left > 0 {
			return
		}
	}
	t.ctx.interrupt(cause)
}

// ended takes a handler out of the keeper's sight, and says whether its timeout had passed.
func (k *keeper) ended(d *Delivery, now time.Time) (late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.meter.over(1, d.running.begun, now)
	d.cancel = nil
	k.runs.remove(d)
	return d.running.late
}

// endedTogether is ended for the handler of a batch, whose first delivery stands for all.
func (k *keeper) endedTogether(w *worker, ds []*Delivery, now time.Time) (late bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.meter.over(len(ds), ds[0].running.begun, now)
	w.batch = nil
	for _, d := range ds {
		d.cancel = nil
		k.runs.remove(d)
	}
	return ds[0].running.late
}

// together is what the handler of d has.
func (k *keeper) together(d *Delivery) []*Delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(d.worker.batch) > 0 {
		return d.worker.batch
	}
	return []*Delivery{d}
}

// interruptAll cancels every handler that runs.
func (k *keeper) interruptAll(cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for d := k.runs.head; d != nil; d = d.running.next {
		d.cancel.interrupt(cause)
	}
}

// remaining is what has been started and not yet ended.
func (k *keeper) remaining() (ds []*Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for d := k.runs.head; d != nil; d = d.running.next {
		ds = append(ds, d)
	}
	return ds
}

// oldest is when the handler that has run the longest began; zero: none runs.
func (k *keeper) oldest() (begun time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for d := k.runs.head; d != nil; d = d.running.next {
		if begun.IsZero() || d.running.begun.Before(begun) {
			begun = d.running.begun
		}
	}
	return begun
}

// interrupt cancels a delivery's handler, if it has one.
func (k *keeper) interrupt(d *Delivery, cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.cancel != nil {
		d.cancel.interrupt(cause)
	}
}

// overdue cancels the handlers whose timeout has passed, and returns them and those that were cancelled before and
// still run. The caller holds k.mu.
func (k *keeper) overdue(now time.Time) (late, stuck []*Delivery) {
	for d := k.runs.pop(now); d != nil; d = k.runs.pop(now) {
		if d.running.mate {
			k.runs.insert(d, never.Add(1)) // behind the first of its batch, so that shutdown finds a lane in order
			continue
		}
		if d.running.late {
			stuck = append(stuck, d)
			k.runs.insert(d, never) // still to be found by shutdown
			continue
		}
		late = append(late, d)
		d.running.late = true
		d.cancel.interrupt(ErrProcessingTimeout)
		k.runs.insert(d, now.Add(abandonAfter))
	}
	return late, stuck
}
