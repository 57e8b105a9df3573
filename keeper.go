package godwit

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// renewBefore: a lease is renewed when one part in so many of it is left. A third leaves room for several tries.
	renewBefore = 3
	// renewRetry is the wait after a renewal that failed in passing.
	renewRetry = time.Second
	// renewalsAtOnce bounds the renewals under way, so that a slow service does not collect goroutines.
	renewalsAtOnce = 8
	// abandonAfter is how long a handler has to return once its processing timeout has cancelled it.
	abandonAfter = time.Second
)

// keeper watches the time of everything a session holds, with one goroutine and one timer: it renews leases in batches,
// fires processing timeouts, and wakes held retries.
type keeper struct {
	s      *session
	extend driver.Extender // nil: the service has no leases to renew
	length time.Duration
	total  time.Duration
	batch  int

	kick chan struct{} // holds one: something is due before armed
	stop chan struct{}
	done chan struct{}
	wg   sync.WaitGroup // renewals under way

	mu       sync.Mutex
	meter    meter
	tickAt   time.Time // when the size of the pool is thought over; zero: not while nothing runs
	leases   timeline  // when each lease is to be renewed
	runs     timeline  // when each handler has had its time
	holds    holdHeap
	armed    time.Time // when the timer fires; zero: not at all
	renewing int
}

// never is later than everything a timeline is asked for.
var never = time.Unix(1<<40, 0)

// lease is what the keeper knows of a delivery's lease. Guarded by keeper.mu.
type lease struct {
	tick
	since, ends time.Time
	renewing    chan struct{} // of a call under way, closed with its answer; the tick is now when the lease ends without
	going       bool          // a verdict that lets go of it is on the wire: a renewal that came later would hide the message again
	over        bool          // settled or dropped: do not watch it again
}

// running is what the keeper knows of a delivery's handler. Guarded by keeper.mu.
type running struct {
	tick
	begun time.Time
	late  bool // its timeout has cancelled it: the tick is now when it counts as abandoned
	mate  bool // of a batch whose first delivery stands for all when their time is up
}

func newKeeper(s *session, r driver.Receiver, lim driver.ReceiveLimits) *keeper {
	k := &keeper{s: s, length: lim.Lease, total: lim.LeaseTotal, batch: lim.SettleBatch,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	k.leases.tick = func(d *Delivery) *tick { return &d.lease.tick }
	k.runs.tick = func(d *Delivery) *tick { return &d.running.tick }
	k.extend, _ = r.(driver.Extender)
	if k.batch == 0 {
		k.batch = 1000
	}
	return k
}

// keepAll begins to hold the leases of what a poll brought.
func (k *keeper) keepAll(ds []Delivery, in []driver.Delivery, now time.Time) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range ds {
		if ends := in[i].LeaseEnds; !ends.IsZero() {
			ds[i].lease.since, ds[i].lease.ends = now, ends
			k.watch(&ds[i], ends.Add(-k.length/renewBefore))
		}
	}
}

// forgetAll is forget for those that were settled together.
func (k *keeper) forgetAll(vs []verdict) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range vs {
		vs[i].d.lease.over = true
		k.leases.remove(vs[i].d)
	}
}

// watch puts a lease on the timeline. The caller holds k.mu.
func (k *keeper) watch(d *Delivery, renewAt time.Time) {
	k.leases.insert(d, renewAt)
	k.due(renewAt)
}

// forget ends the holding: the delivery is settled, or dropped.
func (k *keeper) forget(d *Delivery) {
	if k.extend == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	d.lease.over = true
	k.leases.remove(d)
}

// started puts a handler under watch: cancel is for its timeout, a lost lease and shutdown.
func (k *keeper) started(d *Delivery, cancel interrupter, begun, deadline time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d.cancel = cancel
	d.running.begun, d.running.late, d.running.mate = begun, false, false
	k.runs.insert(d, deadline)
	k.began(begun, deadline, d)
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
		d.worker, d.cancel = w, together
		d.running.begun, d.running.late, d.running.mate = begun, false, i > 0
		k.runs.insert(d, deadline)
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

// hold keeps a retry until it is due, then makes it runnable again.
func (k *keeper) hold(d *Delivery, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	heap.Push(&k.holds, held{d, until})
	k.due(until)
}

// unhold takes the held retries of a source; nil: of all.
func (k *keeper) unhold(of *source) (out []*Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var rest holdHeap
	for len(k.holds) > 0 {
		h := heap.Pop(&k.holds).(held)
		if of == nil || h.d.src == of {
			out = append(out, h.d)
		} else {
			rest = append(rest, h) // in order, and so a heap
		}
	}
	k.holds = rest
	return out
}

// due makes sure that the keeper looks at t. The caller holds k.mu.
func (k *keeper) due(t time.Time) {
	if !k.armed.IsZero() && !t.Before(k.armed) {
		return
	}
	k.armed = t
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// loop is the keeper's goroutine; close ends it.
func (k *keeper) loop() {
	defer close(k.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next := k.fire(time.Now()); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-timer.C:
		case <-k.kick:
		case <-k.stop:
			return
		}
	}
}

// close ends the keeper and waits for its renewals.
func (k *keeper) close() {
	close(k.stop)
	<-k.done
	k.wg.Wait()
}

// fire does what is due at now and returns when to look again; zero: when kicked.
func (k *keeper) fire(now time.Time) time.Time {
	k.mu.Lock()
	lost := k.renewDue(now)
	late, stuck := k.overdue(now)
	var ready []*Delivery
	for len(k.holds) > 0 && !k.holds[0].until.After(now) {
		ready = append(ready, heap.Pop(&k.holds).(held).d)
	}
	var counted *meter
	if !k.tickAt.IsZero() && !k.tickAt.After(now) {
		counted = k.read(now)
	}
	k.armed = k.next()
	next := k.armed
	k.mu.Unlock()

	if counted != nil {
		k.s.pace.tick(now, *counted)
	}

	for _, d := range lost {
		k.s.leaseLost(d)
	}
	for _, d := range late {
		k.s.timedOut(d)
	}
	for _, d := range stuck {
		k.s.stuck(d)
	}
	for _, d := range ready {
		k.s.resume(d)
	}
	return next
}

// read takes what the meter has counted, and says when to look again. The caller holds k.mu.
func (k *keeper) read(now time.Time) *meter {
	k.meter.move(now, 0)
	m := k.meter
	k.meter = meter{handlers: m.handlers, last: now}
	k.tickAt = time.Time{}
	if m.handlers > 0 || k.s.pace.grown() {
		k.tickAt = now.Add(paceInterval)
	}
	return &m
}

// next is the earliest time at which something is due. The caller holds k.mu.
func (k *keeper) next() (at time.Time) {
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	earlier(k.leases.first())
	earlier(k.tickAt)
	if first := k.runs.first(); first.Before(never) {
		earlier(first)
	}
	if len(k.holds) > 0 {
		earlier(k.holds[0].until)
	}
	return at
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

// renewDue sends the leases that are due on their way, in batches filled with those that would be due soon anyway, and
// returns the deliveries whose lease has ended. The caller holds k.mu.
func (k *keeper) renewDue(now time.Time) (lost []*Delivery) {
	var rest []*Delivery // to be watched until their lease ends: it is being renewed, or lasts as long as it may
	var later []*Delivery
	for {
		var batch []*Delivery
		full := k.renewing >= renewalsAtOnce
		answered := make(chan struct{})
		by, soon := k.length, now
		for len(batch) < k.batch {
			d := k.leases.pop(soon)
			if d == nil {
				break
			}
			left := k.renewable(d, now)
			switch {
			case !d.lease.ends.After(now):
				lost = append(lost, d)
			case left == 0, d.lease.going, d.lease.renewing != nil:
				rest = append(rest, d)
			case full:
				later = append(later, d)
			default:
				d.lease.renewing = answered
				by = min(by, left)
				batch, rest = append(batch, d), append(rest, d)
				soon = now.Add(k.length / renewBefore)
			}
		}
		if len(batch) == 0 {
			break
		}
		k.renewing++
		k.wg.Go(func() {
			defer close(answered)
			k.renew(batch, by)
		})
	}
	for _, d := range rest {
		k.leases.insert(d, d.lease.ends)
	}
	for _, d := range later {
		at := now.Add(renewRetry)
		if at.After(d.lease.ends) {
			at = d.lease.ends
		}
		k.leases.insert(d, at)
	}
	return lost
}

// renewable is how long a lease may still be made to last from now; 0: not longer than it lasts anyway. The caller
// holds k.mu.
func (k *keeper) renewable(d *Delivery, now time.Time) time.Duration {
	left := k.length
	if k.total > 0 {
		left = min(left, d.lease.since.Add(k.total).Sub(now).Truncate(time.Second))
	}
	if !now.Add(left).After(d.lease.ends) {
		return 0
	}
	return left
}

// renew makes one call to the service and puts the deliveries back under watch.
func (k *keeper) renew(batch []*Delivery, by time.Duration) {
	hs := make([]driver.Handle, len(batch))
	for i, d := range batch {
		hs[i] = d.handle
	}
	// A renewal that takes longer than what is left of the leases is of no use.
	ctx, cancel := context.WithTimeout(context.Background(), k.length/renewBefore)
	ends, err := k.extend.Extend(ctx, hs, by)
	cancel()
	for _, d := range k.renewed(batch, ends, by, err) {
		k.s.leaseLost(d)
	}
}

// letGo begins to send a delivery back to the service: it waits for a renewal that is under way, and lets none begin.
func (k *keeper) letGo(ctx context.Context, d *Delivery) {
	k.mu.Lock()
	d.lease.going = true
	answered := d.lease.renewing
	k.mu.Unlock()
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
	}
}

// goOn takes a letGo back that has failed: the lease is needed until the next try.
func (k *keeper) goOn(d *Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !d.lease.going || d.lease.over || d.lost.Load() {
		return
	}
	d.lease.going = false
	if d.lease.linked {
		k.leases.remove(d)
		k.watch(d, d.lease.ends.Add(-k.length/renewBefore))
	}
}

// renewed takes a renewal's answer in, and returns what it says is lost.
func (k *keeper) renewed(batch []*Delivery, ends time.Time, by time.Duration, err error) (lost []*Delivery) {
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewing--
	for i, d := range batch {
		failed := err
		if partial {
			failed = entries.Errs[i]
		}
		d.lease.renewing = nil
		if d.lease.over || d.lost.Load() { // it ended meanwhile
			continue
		}
		k.leases.remove(d)
		switch {
		case failed == nil:
			d.lease.ends = ends
			k.watch(d, ends.Add(-by/renewBefore))
		case errors.Is(failed, driver.ErrLost) && d.told.Load():
			// The verdict was faster than the renewal, which then found nothing: its own answer counts.
		case errors.Is(failed, driver.ErrLost):
			lost = append(lost, d)
		default:
			again := now.Add(renewRetry)
			if again.After(d.lease.ends) {
				again = d.lease.ends
			}
			k.watch(d, again)
		}
	}
	if first := k.leases.first(); !first.IsZero() {
		k.due(first)
	}
	return lost
}
