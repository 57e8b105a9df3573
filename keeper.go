package godwit

import (
	"container/heap"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
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
