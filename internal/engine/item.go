package engine

import (
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Item is a delivery in the engine's hands. Items are used again: once one is gone and nothing refers to it any more,
// its generation moves on. Who keeps an item for longer, as the application does, keeps its generation too.
//
// The exported fields belong to whoever has the item in hand: the poller that received it, then the worker that runs
// it. Each other field is guarded by the fleet's lock, or never changes while the item is used.
type Item struct {
	Owner    any       // the application's side of it
	Chosen   *Verdict  // by a method of the delivery, while its handler ran; nil: by none
	Context  *Context  // for its first handler; made by the application together with the owner
	ID       string    // the service's
	Tenant   string    // "": it has none
	SentAt   time.Time // zero: unknown
	Err      error     // why it could not be decoded; nil: it could
	Attempt  int       // the number of its start: the one that runs, or the next one
	Failures int       // that are known here
	first    moment    // when its first known failure was; noMoment: it had none

	in       *Session
	src      *source
	handle   driver.Handle
	size     int64
	delay    time.Duration // that it waits before it can be received, and which is no age
	received int32
	probes   int8 // of an open breaker, that it failed

	counted, tenantCounted bool // the rates of all and of its tenant know of its next start

	gen   uint32
	state state
	held  holding
	can   holding // what items like it hold at all

	lost atomic.Bool // its lease; written under the lock
	told atomic.Bool // its verdict has left for the service

	lane     uint64 // hash of its lane's key; 0: it has no lane
	lanePrev *Item
	laneNext *Item
	linePrev *Item // on the bus, or in its tenant's line
	lineNext *Item
	until    moment // shelved: when its retry is due
	heapAt   int    // shelved: where it stands among the held retries
	stint    *stint // the handler that has it; nil: none has
	lease    lease
}

// Generation is what tells this use of an item from later ones.
func (it *Item) Generation() uint32 { return it.gen }

// InHand says why an item cannot be settled by its handler: it is settled already, or its lease is lost.
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

// Keep lets an iteration go on while its caller still has the item.
func (it *Item) Keep(gen uint32) {
	f := it.in.flow
	f.lock()
	defer f.unlock()
	if it.gen == gen {
		f.move(it, evKeep)
	}
}

// NearLimit says whether the service itself is about to dead-letter the message, without a reason.
func (it *Item) NearLimit() bool {
	most := it.in.flow.lim.MaxReceives
	return most > 0 && int(it.received) >= most-most/10
}

// tooOften says why an item is rejected rather than something done with it.
func (it *Item) tooOften(what string, err error) error {
	return &ReceivedTooOftenError{int(it.received), it.in.flow.lim.MaxReceives, what, err}
}

// Follows says whether an item stands behind another one in its lane. In a batch those of a lane stand one after
// another.
func (it *Item) Follows(before *Item) bool {
	return it.lane != 0 && it.lane == before.lane && it.src == before.src
}

// FirstFailure is when the first known failure was; without one, now.
func (it *Item) FirstFailure() time.Time {
	if it.first == noMoment {
		return time.Now()
	}
	return it.in.flow.clock.time(it.first)
}

// itemsAtOnce is how many items are allocated together.
const itemsAtOnce = 32

// items are those of a session that nobody uses now.
type items struct{ free []*Item }

// take takes an item that holds nothing.
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

// giveBack ends the use of an item, and forgets everything but its generation.
func (l *items) giveBack(it *Item) {
	gen := it.gen + 1
	in := it.in
	*it = Item{gen: gen, in: in}
	l.free = append(l.free, it)
}
