package godwit

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
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

	c         *Consumer // nil: made by hand
	item      *engine.Item
	gen       uint32      // of the item: what it is used for later is another delivery
	nearLimit bool        // the service itself is about to dead-letter the message
	pulls     bool        // the caller of an iterator settles it
	kept      atomic.Bool // by the caller of an iterator
	choice    atomic.Pointer[choice]
	ctx       engine.Context // for its first handler
}

// fill takes over what was received.
func (d *Delivery) fill(c *Consumer, it *engine.Item, in *driver.Delivery) {
	d.ID, d.Channel = in.ID, c.name
	d.OrderKey, d.Tenant, d.RoutingKey = in.OrderKey, in.Tenant, in.RoutingKey
	d.ContentType, d.Type, d.Version = in.ContentType, in.Type, in.Version
	d.Headers, d.Body, d.SentAt = in.Header, in.Body, in.SentAt
	d.Attempt, d.Failures, d.Death = it.Attempt, it.Failures, deathOf(in.Origin)
	if c.channel.DeadLetter {
		d.Undecodable = in.Err
	}
	d.c, d.item, d.gen, d.nearLimit = c, it, it.Generation(), it.NearLimit()
	d.choice.Store(&c.sealed)
}

// begin lets a handler, or an iterator's caller, choose what becomes of it.
func (d *Delivery) begin(it *engine.Item) {
	d.Attempt, d.Failures = it.Attempt, it.Failures
	d.kept.Store(false)
	d.choice.Store(nil)
}

// seal ends that, and returns what was chosen; nil: nothing was.
func (d *Delivery) seal() *engine.Verdict {
	chosen := d.choice.Swap(&d.c.sealed)
	if chosen == nil || chosen == &d.c.sealed {
		return nil
	}
	v := chosen.engine()
	return &v
}

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
func (d *Delivery) Done() error { return d.settle(&choice{verdict: Verdict{Action: ActionDone}}) }

// Retry lets the message come back after a while. Where the service cannot keep so long a delay it comes earlier.
func (d *Delivery) Retry(after time.Duration) error {
	return d.settle(&choice{verdict: Verdict{Action: ActionRetry, After: max(after, 0)}})
}

// Reject moves the message to the channel's dead letters, with reason as its cause of death.
func (d *Delivery) Reject(reason error) error {
	if d.c != nil && d.c.noDeadLetters() {
		return ErrNoDeadLetters
	}
	return d.settle(&choice{verdict: Verdict{Action: ActionReject}, reason: readable(reason)})
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
	if c == nil || d.c != nil && c == &d.c.sealed {
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

// engine is the choice in the engine's words.
func (c *choice) engine() engine.Verdict {
	v := engineVerdict(c.verdict)
	v.Reason = c.reason
	if c.release {
		v.Action = engine.ActionRelease
	}
	return v
}

// settle carries a choice out. While a handler runs, that is left to its worker, so that the next of the lane does not
// start before the handler has returned.
func (d *Delivery) settle(c *choice) error {
	if d.c != nil && !d.pulls {
		if err := d.item.InHand(d.gen); err != nil {
			return err
		}
	}
	switch {
	case !d.choice.CompareAndSwap(nil, c):
		return ErrSettled
	case d.pulls:
		return d.item.Settle(d.gen, c.engine())
	}
	return nil
}

// Keep lets an iteration go on while the caller still works on this delivery, in another goroutine, say. It is settled
// later; its lease is kept until then, and a consumer holds no more than its places.
func (d *Delivery) Keep() {
	if d.kept.Store(true); d.pulls {
		d.item.Keep(d.gen)
	}
}

// behind says whether d stands behind another delivery in its lane. In a batch those of a lane stand one after another.
func (d *Delivery) behind(before *Delivery) bool {
	return before != nil && d.item != nil && d.item.Follows(before.item)
}
