package godwit

import (
	"container/heap"
	"slices"
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
	tickAt   moment   // when the size of the pool is thought over; never: not while nothing runs
	leases   timeline // when each lease is to be renewed
	stints   []*stint // what runs, in no order: looked through when something is due, which is far more seldom than a start
	holds    holdHeap
	armed    moment // when the timer fires; never: not at all
	renewing int
}

func newKeeper(s *session, r driver.Receiver, lim driver.ReceiveLimits) *keeper {
	k := &keeper{s: s, length: lim.Lease, total: lim.LeaseTotal, batch: lim.SettleBatch, tickAt: never, armed: never,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	k.extend, _ = r.(driver.Extender)
	if k.batch == 0 {
		k.batch = 1000
	}
	return k
}

// hold keeps a retry until it is due, then makes it runnable again.
func (k *keeper) hold(d *Delivery, until moment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	heap.Push(&k.holds, held{d, until})
	k.due(until)
}

// unholdOne takes a held retry, and says whether it was one.
func (k *keeper) unholdOne(d *Delivery) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.holds, func(h held) bool { return h.d == d })
	if i >= 0 {
		heap.Remove(&k.holds, i)
	}
	return i >= 0
}

// unhold takes the held retries of a source; nil: of all.
func (k *keeper) unhold(of *source) (out []held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var rest holdHeap
	for len(k.holds) > 0 {
		h := heap.Pop(&k.holds).(held)
		if of == nil || h.d.src == of {
			out = append(out, h)
		} else {
			rest = append(rest, h) // in order, and so a heap
		}
	}
	k.holds = rest
	return out
}

// holding is how many retries are held in places, and not on the shelf.
func (k *keeper) holding() (n int) {
	k.mu.Lock()
	all := slices.Clone(k.holds)
	k.mu.Unlock()
	for _, h := range all {
		if !h.d.src.onShelf(h.d) {
			n++
		}
	}
	return n
}

// due makes sure that the keeper looks by then. The caller holds k.mu.
func (k *keeper) due(at moment) {
	if at >= k.armed {
		return
	}
	k.armed = at
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
		now := k.s.clock.now()
		if next := k.fire(now); next == never {
			timer.Stop()
		} else {
			timer.Reset(next.since(now))
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

// fire does what is due at now and returns when to look again; never: when kicked.
func (k *keeper) fire(now moment) moment {
	k.mu.Lock()
	lost := k.renewDue(now)
	late, stuck := k.overdue(now)
	var ready []*Delivery
	for len(k.holds) > 0 && k.holds[0].until <= now {
		ready = append(ready, heap.Pop(&k.holds).(held).d)
	}
	var counted *meter
	if k.tickAt <= now {
		counted = k.read(now)
	}
	k.armed = k.next()
	next := k.armed
	k.mu.Unlock()

	if counted != nil {
		k.s.pace.tick(k.s.clock.time(now), *counted)
	}

	for _, d := range lost {
		k.s.leaseLost(d)
	}
	for _, d := range late {
		k.s.timedOut(d)
	}
	for _, st := range stuck {
		k.s.stuck(st)
	}
	for _, d := range ready {
		k.s.offShelf(d)
		k.s.resume(d)
	}
	return next
}

// read takes what the meter has counted, and says when to look again. The caller holds k.mu.
func (k *keeper) read(now moment) *meter {
	k.meter.move(now, 0)
	m := k.meter
	k.meter = meter{handlers: m.handlers, last: now}
	k.tickAt = never
	if m.handlers > 0 || k.s.pace.grown() {
		k.tickAt = now.plus(paceInterval)
	}
	return &m
}

// next is when something is due next. The caller holds k.mu.
func (k *keeper) next() moment {
	at := min(k.leases.first(), k.firstDeadline(), k.tickAt)
	if len(k.holds) > 0 {
		at = min(at, k.holds[0].until)
	}
	return at
}
