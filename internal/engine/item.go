package engine

import (
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Item is a delivery in the engine. Items are reused when they are gone and nothing refers to them, with another
// generation. Code that keeps an item for longer, such as the application, must keep its generation, too.
//
// The exported fields belong to the goroutine that has the item in hand: the poller that received it, then the worker
// that runs it. All other fields are guarded by the fleet's lock, or do not change while the item is used.
type Item struct {
	in  *Session // never changes, so that a handler may ask about an item that it has no more
	gen uint32
	use
}

// use is one use of an item.
type use struct {
	Owner    any       // the application's delivery
	Handled  any       // its Owner after its handler, without a large body; nil: the Owner stays
	Context  *Context  // for its first handler; made by the application with the owner; nil: it has not made any
	ID       string    // the service's
	Tenant   string    // "": none
	SentAt   time.Time // zero: unknown
	Err      error     // why it could not be decoded; nil: it could
	Attempt  int       // the number of the running start, or of the next one
	Failures int       // in this consumer
	first    moment    // the time of the first known failure; noMoment: none

	src      *source
	handle   driver.Handle
	size     int64
	delay    time.Duration // its delay before it can be received, which is not part of its age
	received int32
	probes   int8 // failed probes of an open breaker

	counted, tenantCounted bool // the rates have tokens for its next start

	state state
	held  holding
	can   holding // what this item can hold

	lost atomic.Bool // its lease has ended; written under the lock
	told atomic.Bool // its verdict was sent to the service

	lane     uint64 // hash of its lane's key; 0: no lane
	lanePrev *Item
	laneNext *Item
	linePrev *Item // on the bus, or in its tenant's line
	lineNext *Item
	until    moment // shelved: when its retry is due
	heapAt   int    // shelved: index among the held retries
	stint    *stint // the handler that has it; nil: none
	lease    lease
}

// Generation identifies this use of an item.
func (it *Item) Generation() uint32 { return it.gen }

// Handle returns the backend's handle. It may be called while the item is in hand.
func (it *Item) Handle() driver.Handle { return it.handle }

// InHand returns an error if an item cannot be settled by its handler: it is settled already, or its lease is lost.
func (it *Item) InHand(gen uint32) error {
	f := it.in.flow
	f.fleet.mu.Lock()
	defer f.fleet.mu.Unlock()
	switch {
	case it.gen != gen:
		return ErrSettled
	case it.lost.Load():
		return ErrLeaseLost
	case !it.state.inHand():
		return ErrSettled
	}
	return nil
}

// As shows what the service delivered beside the item's fields, if the item is still used for the delivery.
func (it *Item) As(gen uint32, to any) bool {
	f := it.in.flow
	f.fleet.mu.Lock()
	same, handle := it.gen == gen && it.state != gone, it.handle
	f.fleet.mu.Unlock()
	return same && it.in.service.recv.As(handle, to)
}

// Keep lets an iteration continue while its caller still has the item.
func (it *Item) Keep(gen uint32) {
	f := it.in.flow
	f.lock()
	defer f.unlock()
	if it.gen == gen {
		f.move(it, evKeep)
	}
}

// Grow changes the size of an item in hand: its body was read, or given up. The bytes are part of the fleet's budget
// until the item is gone.
func (it *Item) Grow(gen uint32, by int64) {
	f := it.in.flow
	f.lock()
	if it.gen == gen && it.held&hasBytes != 0 {
		it.size += by
		f.places.bytes.give(-by)
	}
	f.unlock()
}

// NearLimit reports whether the service is about to move the message to the dead letters, without a reason.
func (it *Item) NearLimit() bool {
	most := it.in.flow.lim.MaxReceives
	return most > 0 && int(it.received) >= most-most/10
}

// laneNearLimit reports whether an item, or one behind it in its lane, is near the service's limit of receives. Such a
// lane is kept instead of released; only a stop releases it. nil: there is no item.
func (it *Item) laneNearLimit() bool {
	if it == nil || it.in.flow.lim.MaxReceives == 0 {
		return false
	}
	for ; it != nil; it = it.laneNext {
		if it.NearLimit() {
			return true
		}
	}
	return false
}

// often reports whether the message has used up half of its receives. It is then kept, and not released for its
// tenant's sake: the other half is for what happens to it.
func (it *Item) often() bool {
	most := it.in.flow.lim.MaxReceives
	return most > 0 && 2*int(it.received) >= most
}

// tooOften is the reason when an item is rejected instead of what would be done with it.
func (it *Item) tooOften(what string, err error) error {
	return &ReceivedTooOftenError{int(it.received), it.in.flow.lim.MaxReceives, what, err}
}

// possible is the verdict that carries out a handler's choice.
func (it *Item) possible(v Verdict) Verdict {
	if v.Action == ActionRelease && it.NearLimit() && !it.in.flow.stopping() {
		return Verdict{Action: ActionReject, Reason: it.tooOften("released", nil)}
	}
	return v
}

// isDone reports whether a handler has handled its item. If the handler has chosen a verdict by a method of its
// delivery, the verdict decides; otherwise the error that the handler has returned does.
func isDone(chosen *Verdict, err error) bool {
	if chosen != nil {
		return chosen.Action == ActionDone
	}
	return err == nil
}

// part parts an item in hand from its handler, if that has not returned: the item may be handled again in this process,
// unless this stops, and its next handler then needs a delivery of its own. The caller holds the lock.
func (it *Item) part() {
	if st, f := it.stint, it.in.flow; st != nil && f.stints.runs(st) && !f.stopping() && !it.src.dead {
		it.gen++
		it.Owner = it.in.cfg.Again(it)
	}
}

// Follows reports whether an item is behind another one in its lane. In a batch, the items of a lane are consecutive.
func (it *Item) Follows(before *Item) bool {
	return it.lane != 0 && it.lane == before.lane && it.src == before.src
}

// FirstFailure is the time of the first known failure, or now if there is none.
func (it *Item) FirstFailure() time.Time {
	if it.first == noMoment {
		return time.Now()
	}
	return it.in.flow.clock.time(it.first)
}

// itemsAtOnce is how many items are allocated together.
const itemsAtOnce = 32

// items are the unused items of a session.
type items struct{ free []*Item }

// take returns an item that holds nothing.
func (l *items) take() *Item {
	if len(l.free) == 0 {
		slab := make([]Item, itemsAtOnce)
		for i := range slab {
			l.free = append(l.free, &slab[i])
		}
	}
	last := len(l.free) - 1
	it := l.free[last]
	l.free[last], l.free = nil, l.free[:last]
	return it
}

// put ends the use of an item, and clears everything but its generation.
func (l *items) put(it *Item) {
	it.gen++
	it.use = use{}
	l.free = append(l.free, it)
}

// acceptAtOnce is how many items are accepted while the lock is held once. A log delivers thousands, and workers wait
// for the lock meanwhile. If the deliveries behind a retry follow it, all of a poll are accepted at once: otherwise the
// first of a lane may fail before the rest of the lane is here, which would then be handled before it.
const acceptAtOnce = 64

// accept adds the deliveries of a poll to their lanes, and the heads of lanes to the bus. It returns their size in
// bytes. rest is how many of the poll's places are still reserved.
func (p *pollers) accept(in []driver.Delivery, hand *pollHand, rest *int, poll *Poll) (bytes int64) {
	for len(in) > 0 {
		n := min(len(in), acceptAtOnce)
		if p.f.lim.Behind == driver.BehindFollows {
			n = len(in)
		}
		bytes += p.acceptSome(in[:n], hand, rest, poll)
		in = in[n:]
	}
	return bytes
}

func (p *pollers) acceptSome(in []driver.Delivery, hand *pollHand, rest *int, poll *Poll) (bytes int64) {
	f := p.f
	its := hand.items[:0]
	f.lock()
	f.count.Received += int64(len(in))
	f.talk.empty = false
	for i := range in {
		it := f.items.take()
		if it.in == nil {
			it.in = p.session
		}
		if i > 0 && in[i].Source == in[i-1].Source {
			it.src = its[i-1].src
		} else {
			it.src = f.sources.of(in[i].Source)
		}
		it.Attempt, it.Failures = f.starts.attempt(&in[i])
		its = append(its, it)
	}
	f.unlock()
	for i, it := range its {
		p.fill(it, &in[i])
		bytes += it.size
	}
	p.cfg.Own(its, in)
	if p.cfg.TellOwners {
		poll.Owners = appendOwners(poll.Owners, its)
	}
	for _, it := range its {
		p.obs.Received(it)
	}
	now, heads := f.clock.now(), 0
	f.lock()
	for i, it := range its {
		f.places.reserved--
		*rest--
		f.move(it, evArrive)
		f.keeper.keep(it, in[i].LeaseEnds, now)
		if it.lanePrev == nil { // otherwise it is not the first of its lane
			heads++
			f.ready(it, it.NearLimit())
		}
	}
	f.places.brought(len(its), heads)
	f.unlock()
	clear(its)
	hand.items = its
	return bytes
}

// fill copies what the session needs of a delivery.
func (p *pollers) fill(it *Item, in *driver.Delivery) {
	it.ID, it.Tenant, it.SentAt, it.Err = in.ID, in.Tenant, in.SentAt, in.Err
	it.handle, it.size, it.received = in.Handle, int64(len(in.Body)), in.Received
	if !in.FirstFailure.IsZero() {
		it.first = p.f.clock.of(in.FirstFailure)
	}
	if it.delay = p.cfg.Delay; !in.Due.IsZero() {
		it.delay = in.Due.Sub(in.SentAt)
	}
	if p.cfg.Channel.DeadLetter {
		it.Err = nil // dead letters cannot be rejected
	}
	if p.cfg.Channel.Ordered || in.OrderKey != "" {
		it.lane = laneOf(p.seed, in.OrderKey)
	}
	it.can = p.f.ledger.abilities(it, p.f.keeper.extend != nil)
}
