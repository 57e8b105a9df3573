package godwit

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Delivery is a message in a consumer's hands. Its fields are for reading. It is settled at most once: by the verdict
// on its handler, or by one of its methods; a second time is [ErrSettled]. A test of a handler makes one by hand,
// &Delivery{Body: …}, and looks at [Delivery.Settled].
type Delivery struct {
	ID         string // the service's; the same when the message is delivered again
	Channel    string // as users spell it
	OrderKey   string
	Tenant     string
	RoutingKey string

	ContentType string
	Type        string
	Version     int
	Headers     Headers
	Body        []byte // not to be changed: it is in memory once, and a dead letter is made of it

	// Attempt counts the starts of a handler for this message, this one included, as far as they are known: at
	// least 1. What was given back without being started does not count.
	Attempt int
	// Failures counts the failures of this message that this consumer knows of: at most Attempt, and fewer where other
	// processes had the message. Only failures that are known use up MaxAttempts.
	Failures int
	// Death is why and where a dead letter died; nil for other messages.
	Death *Death
	// Undecodable says why a dead letter could not be decoded; Body then holds the raw bytes. Elsewhere it is nil,
	// because such a message is rejected before a handler sees it.
	Undecodable error
	SentAt      time.Time // zero: unknown

	in       *session
	src      *source
	handle   driver.Handle
	err      error // could not be decoded
	size     int64
	first    moment // of the first failure we know of; noMoment: there was none
	received int32
	delay    time.Duration // that it waits before it can be received, and which is no age

	phase atomic.Uint32
	lost  atomic.Bool // the lease; set once
	kept  atomic.Bool // by the caller of an iterator
	told  atomic.Bool // its verdict has left for the service

	counted  bool // against its session's cap; guarded by bus.mu
	tenanted bool // it has one of its tenant's share; guarded by tenants.mu
	returned bool // after its timeout; guarded by healthLog.mu
	shelved  bool // it holds a place on the shelf instead of one of its own; guarded by source.mu; aside, by tenants.mu
	probes   int8 // of an open breaker that it failed; whoever has it in hand may look

	choice   atomic.Pointer[choice] // of the handler, before it returned
	lane     uint64                 // hash of its lane's key; 0: no lane
	laneNext *Delivery              // guarded by source.mu
	busNext  *Delivery              // guarded by bus.mu

	lease *lease         // guarded by keeper.mu; nil where there are none
	stint *stint         // guarded by keeper.mu; nil: it does not run
	ctx   handlerContext // of its first handler; a retry that was held has another
}

// The phases of a delivery. Whoever moves it from running to settled owns the verdict.
const (
	phaseWaiting uint32 = iota // in its lane, on the bus, or held until a retry is due
	phaseRunning               // with a handler, or with the caller of an iterator
	phaseSettled               // a verdict is on its way to the service, or there
)

// Forward is a message to send on, say a dead letter back to its channel: body, keys, type, headers. On an ordered
// channel its DedupID derives from this delivery, so that forwarding it twice, after a crash, is one message, and the
// message that it was is another one. Settle the delivery when the send has answered. What was Undecodable goes on as
// raw bytes.
func (d *Delivery) Forward() Message {
	return Message{
		Body: d.Body, OrderKey: cmp.Or(d.OrderKey, d.Tenant), RoutingKey: d.RoutingKey,
		ContentType: d.ContentType, Type: d.Type, Version: d.Version, Headers: slices.Clone(d.Headers),
		forwarded: "forward/" + d.Channel + "/" + d.ID, // a channel's name holds no slash
	}
}

// Done says that the message was handled. The verdict is queued and batched.
func (d *Delivery) Done() error { return d.settle(&choice{verdict: Verdict{Action: Done}}) }

// Retry lets the message come back after a while. Where the service cannot keep so long a delay it comes earlier.
func (d *Delivery) Retry(after time.Duration) error {
	return d.settle(&choice{verdict: Verdict{Action: Retry, After: max(after, 0)}})
}

// Reject moves the message to the channel's dead letters, with reason as its cause of death.
func (d *Delivery) Reject(reason error) error {
	if d.in != nil && d.in.noDeadLetters() {
		return ErrNoDeadLetters
	}
	return d.settle(&choice{verdict: Verdict{Action: Reject}, reason: readable(reason)})
}

// Release gives the message back untouched: it can be received again at once and no attempt is counted.
func (d *Delivery) Release() error { return d.settle(&choice{release: true}) }

// Settlement is what one of a delivery's methods settled it as.
type Settlement struct {
	Verdict        // Done, Retry or Reject
	Released bool  // given back untouched instead; Verdict says nothing then
	Reason   error // of Reject
}

// Settled tells what one of its methods has settled the delivery as, and false while none has. It is for middleware,
// before it returns, and for tests of handlers that settle by themselves.
func (d *Delivery) Settled() (how Settlement, ok bool) {
	c := d.choice.Load()
	if c == nil || d.in != nil && c == d.in.sealed {
		return Settlement{}, false
	}
	return Settlement{Verdict: c.verdict, Released: c.release, Reason: c.reason}, true
}

// choice is a verdict that was reached by one of a delivery's methods.
type choice struct {
	verdict Verdict
	release bool
	reason  error
}

// settle carries a choice out. While a handler runs, that is left to its worker, so that the next of the lane does not
// start before the handler has returned.
func (d *Delivery) settle(c *choice) error {
	lost := d.lost.Load()
	switch {
	case d.in == nil: // made by hand
		if !d.choice.CompareAndSwap(nil, c) {
			return ErrSettled
		}
		return nil
	case d.in.pool != nil:
		switch {
		case lost:
			return ErrLeaseLost
		case d.phase.Load() != phaseRunning || !d.choice.CompareAndSwap(nil, c):
			return ErrSettled
		}
		return nil
	}
	claimed := d.claim()
	if claimed { // also what is lost: it has a place, and what is behind it waits
		d.choice.Store(c)
		d.in.keeper.ended(d, d.in.clock.now())
		e := ending{d: d, v: c.verdict, reason: c.reason}
		if c.release {
			e = d.in.released(d)
		}
		d.in.carryOut(&e)
	}
	switch {
	case lost:
		return ErrLeaseLost
	case !claimed:
		return ErrSettled
	}
	return nil
}

// claim takes the right to settle, for exactly one caller.
func (d *Delivery) claim() bool { return d.phase.CompareAndSwap(phaseRunning, phaseSettled) }

// behind says whether d stands behind another delivery in its lane. In a batch those of a lane stand one after another.
func (d *Delivery) behind(before *Delivery) bool {
	return before != nil && d.lane != 0 && d.lane == before.lane && d.src == before.src
}
