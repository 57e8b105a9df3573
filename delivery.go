package godwit

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Delivery is a message that a consumer holds. Its fields are for reading. A delivery is settled at most once, by the
// verdict after its handler, or by one of its methods; a second time is [ErrSettled]. In a test of a handler, make a
// delivery with &Delivery{Body: …}, and check [Delivery.Settled].
type Delivery struct {
	ID         string // the service's id; the same when the message is delivered again
	Channel    string // the channel's name
	OrderKey   string
	Tenant     string
	RoutingKey string

	ContentType string
	Type        string
	Version     int
	Headers     Headers
	// Body must not be changed: it is in memory once, and a dead letter is made of it. It is nil if the message is so
	// large that its handler reads it with Open.
	Body []byte

	// Attempt counts the starts of a handler for this message, with this one, as far as they are known; it is at least
	// 1. Releases without a start do not count.
	Attempt int
	// Failures counts the failures of this message in this consumer. It is at most Attempt, and less if other processes
	// had the message. MaxAttempts counts these failures.
	Failures int
	// Death is the reason of a dead letter; nil for other messages.
	Death *Death
	// Undecodable is why a dead letter could not be decoded; Body then has the raw bytes. It is nil on other channels,
	// because a message that cannot be decoded is rejected without a handler. Body is nil if it was in a store and
	// cannot be read.
	Undecodable error
	SentAt      time.Time // zero: unknown
	// ExpiresAt is when the message expires, by its sender's Message.Expires or the consumer's MaxAge. Zero: never, as
	// dead letters.
	ExpiresAt time.Time

	h         *handling // nil: made by hand, in a test
	item      *engine.Item
	gen       uint32      // the item's generation, which differs when the item is used for another delivery
	nearLimit bool        // the service is about to move the message to its dead letters
	spent     bool        // RetryPolicy has found that no attempts are left
	pulls     bool        // an iterator's caller settles it
	expired   bool        // its next attempt would begin too late
	kept      atomic.Bool // by an iterator's caller
	choice    atomic.Pointer[choice]
	ctx       engine.Context // for its first handler
	apart     *payload       // the body in a store; nil: Body is the body
	// lasts is for Forward; nil: its sender did not ask for an end, and it was accepted for the first time at SentAt.
	// Most deliveries have none, and are smaller so.
	lasts *lifespan
}

// lifespan is how long a message lasts from its first acceptance, as its sender asked for. 0 is without an end, and a
// zero time is unknown.
type lifespan struct {
	expires time.Duration
	first   time.Time
}

// fill sets the fields for a received delivery.
func (d *Delivery) fill(h *handling, it *engine.Item, in *driver.Delivery) {
	d.ID, d.Channel = in.ID, h.name
	d.OrderKey, d.Tenant, d.RoutingKey = in.OrderKey, in.Tenant, in.RoutingKey
	d.ContentType, d.Type, d.Version = in.ContentType, in.Type, in.Version
	d.Headers, d.Body, d.SentAt = in.Header, in.Body, in.SentAt
	d.Attempt, d.Failures, d.Death = it.Attempt, it.Failures, deathOf(in.Origin)
	if in.Expires != 0 || !in.First.Equal(in.SentAt) {
		d.lasts = &lifespan{in.Expires, in.First}
	}
	life := in.Expires
	if most := h.o.MaxAge; most > 0 && (life == 0 || most < life) {
		life = most
	}
	if h.channel.DeadLetter {
		d.Undecodable = in.Err
	} else if life > 0 && !in.First.IsZero() {
		d.ExpiresAt = in.First.Add(life)
	}
	if in.Opener != nil {
		d.apart = &payload{}
		d.apart.Opener, d.apart.Size = in.Opener, in.Size
		d.apart.Tries.Store(in.Received - 1) // so that one that the consumer cannot hold waits longer each time, too
	}
	d.h, d.item, d.gen, d.nearLimit = h, it, it.Generation(), it.NearLimit()
	d.choice.Store(&h.sealed)
}

// again returns another delivery of the same item, for its next handler while the handler of this one has not returned.
func (d *Delivery) again() *Delivery {
	n := &Delivery{
		ID: d.ID, Channel: d.Channel, OrderKey: d.OrderKey, Tenant: d.Tenant, RoutingKey: d.RoutingKey,
		ContentType: d.ContentType, Type: d.Type, Version: d.Version, Headers: d.Headers, Body: d.Body,
		Death: d.Death, Undecodable: d.Undecodable, SentAt: d.SentAt, ExpiresAt: d.ExpiresAt,
		lasts: d.lasts,
		h:     d.h, item: d.item, gen: d.item.Generation(), nearLimit: d.nearLimit, spent: d.spent, pulls: d.pulls,
	}
	if d.apart != nil {
		n.apart = &payload{filled: d.apart.filled, bad: d.apart.bad, after: d.apart.after}
		n.apart.Opener, n.apart.Size = d.apart.Opener, d.apart.Size
		n.apart.Tries.Store(d.apart.Tries.Load())
	}
	n.choice.Store(&d.h.sealed)
	return n
}

// late reports whether the message will have expired when a handler starts after a wait.
func (d *Delivery) late(wait time.Duration) bool {
	return !d.ExpiresAt.IsZero() && !time.Now().Add(wait).Before(d.ExpiresAt)
}

// begin allows a handler, or an iterator's caller, to settle the delivery.
func (d *Delivery) begin(it *engine.Item) {
	d.Attempt, d.Failures = it.Attempt, it.Failures
	if d.apart != nil {
		d.apart.after.Attempt, d.apart.after.Failures = it.Attempt, it.Failures
	}
	d.kept.Store(false)
	d.choice.Store(nil)
}

// seal ends that. It returns how the delivery was settled, or nil.
func (d *Delivery) seal() *engine.Verdict {
	d.choice.CompareAndSwap(nil, &d.h.sealed)
	chosen := d.choice.Load() // it stays, for middleware whose handler has not returned yet
	if chosen == &d.h.sealed {
		return nil
	}
	v := chosen.engine()
	return &v
}

// Forward returns a message to send the delivery on, for example a dead letter to its channel, with body, keys, type
// and headers. On an ordered channel its DedupID is derived from this delivery. So it counts as another message than
// the original, but forwarding it again after a crash is a duplicate. Settle the delivery when the message is accepted.
// An Undecodable delivery is forwarded with its raw bytes. The body of a large message is written to the store again,
// because this delivery's settlement may delete it. The message keeps its Expires, which counts from its first
// acceptance; for a later one, make a Message without Forward.
func (d *Delivery) Forward() Message {
	m := Message{
		Body: d.Body, OrderKey: cmp.Or(d.OrderKey, d.Tenant), RoutingKey: d.RoutingKey,
		ContentType: d.ContentType, Type: d.Type, Version: d.Version, Headers: slices.Clone(d.Headers),
		first:     d.SentAt,
		forwarded: "forward/" + d.Channel + "/" + d.ID, // a channel's name has no slash
	}
	if d.lasts != nil {
		m.Expires, m.first = d.lasts.expires, d.lasts.first
	}
	if d.unread() {
		m.Reader, m.Size = &forwardReader{d: d}, d.apart.Size
	}
	return m
}

// As sets the value that native points to, if the backend has a value of that type for this delivery: a
// [github.com/godwitmq/godwit/snssqs.Message] of SQS, a *kgo.Record of Kafka, and a [driver.Provenance] and a
// [driver.Raw] of both. It returns false for other types, and when the delivery was settled.
func (d *Delivery) As(native any) bool { return d.h != nil && d.item.As(d.gen, native) }

// Done settles the delivery as handled. Like all settlements, it is queued and batched.
func (d *Delivery) Done() error { return d.settle(&choice{verdict: Verdict{Action: ActionDone}}) }

// Retry delivers the message again after a delay. If the service cannot keep such a long delay, it is shortened.
func (d *Delivery) Retry(after time.Duration) error {
	return d.settle(&choice{verdict: Verdict{Action: ActionRetry, After: max(after, 0)}})
}

// Reject moves the message to the channel's dead letters, with the reason.
func (d *Delivery) Reject(reason error) error {
	if d.h != nil && d.h.noDeadLetters() {
		return ErrNoDeadLetters
	}
	return d.settle(&choice{verdict: Verdict{Action: ActionReject}, reason: readable(reason)})
}

// Release returns the message untouched: it can be received again at once, and no attempt is counted.
func (d *Delivery) Release() error { return d.settle(&choice{instead: engine.ActionRelease}) }

// Settlement is the result of one of a delivery's methods.
type Settlement struct {
	Verdict        // Done, Retry or Reject
	Released bool  // by Release; the Verdict is then not set
	Reason   error // of Reject
}

// Settled returns how one of the delivery's methods has settled it, and false if none has. If one has, the error that
// the handler returns does not decide any more: middleware that acts on a handler's success asks [Delivery.IsDone].
// Tests of handlers that settle deliveries themselves ask Settled.
func (d *Delivery) Settled() (how Settlement, ok bool) {
	c := d.choice.Load()
	if c == nil || d.h != nil && c == &d.h.sealed {
		return Settlement{}, false
	}
	return Settlement{Verdict: c.verdict, Released: c.instead == engine.ActionRelease, Reason: c.reason}, true
}

// IsDone reports whether a handler that has returned err has handled the delivery: one of the delivery's methods
// decides or, if none was called, the error. It is for middleware, after the next handler has returned.
func (d *Delivery) IsDone(err error) bool {
	if how, settled := d.Settled(); settled {
		return !how.Released && how.Action == ActionDone
	}
	return err == nil
}

// choice is the settlement by one of a delivery's methods, or because its body cannot be read.
type choice struct {
	verdict Verdict
	instead engine.Action // of the verdict's, if it is one that handlers do not return; ActionDone: none
	reason  error
	expired bool // the verdict is that on an expired message
}

// engine converts the choice for the engine.
func (c *choice) engine() engine.Verdict {
	v := engineVerdict(c.verdict)
	v.Reason, v.Expired = c.reason, c.expired
	if c.instead != engine.ActionDone {
		v.Action = c.instead
	}
	return v
}

// settle stores a choice. While a handler runs, its worker settles the delivery after the handler has returned, so that
// the next one of the lane does not start earlier.
func (d *Delivery) settle(c *choice) error {
	if d.h != nil && !d.pulls {
		if err := d.item.InHand(d.gen); err != nil {
			return err
		}
	}
	switch {
	case !d.choice.CompareAndSwap(nil, c):
		return ErrSettled
	case d.pulls:
		v := c.engine()
		return d.item.Settle(d.gen, *d.h.timely(d, &v))
	}
	return nil
}

// Keep lets an iteration continue while the caller still works on this delivery, for example in another goroutine. The
// caller settles it later. Its lease is renewed until then, and it takes one of the consumer's places.
func (d *Delivery) Keep() {
	if d.kept.Store(true); d.pulls {
		d.item.Keep(d.gen)
	}
}

// behind reports whether d is in the same lane as another delivery before it. In a batch, the deliveries of a lane are
// consecutive.
func (d *Delivery) behind(before *Delivery) bool {
	return before != nil && d.item != nil && d.item.Follows(before.item)
}

// Death says why and where a message was rejected.
type Death struct {
	MessageID string // the id of the rejected message
	Channel   string
	OrderKey  string
	Consumer  string
	Error     string
	// Kind is exhausted, permanent, rejected, timeout, undecodable, panic, blocked or expired or, if the body in the
	// store could not be read, payload-missing, -pointer, -foreign, -short, -long, -altered or -large.
	Kind     string
	Attempts int
	// First and Last are the first and the last failure that the consumer has seen.
	First, Last time.Time
}

// deathFrom is what the dead letter of a delivery will say.
func deathFrom(d *Delivery, death *driver.Death) Death {
	return Death{
		MessageID: d.ID, Channel: death.Channel, OrderKey: cmp.Or(d.OrderKey, d.Tenant), Consumer: death.Consumer,
		Error: death.Error, Kind: death.Kind, Attempts: int(death.Attempts), First: death.First, Last: death.Last,
	}
}

func deathOf(o *driver.Origin) *Death {
	if o == nil {
		return nil
	}
	d := &Death{
		MessageID: o.ID, Channel: o.Channel.String(), OrderKey: o.OrderKey, Consumer: o.Death.Consumer,
		Error: o.Death.Error,
		Kind:  o.Death.Kind, Attempts: int(o.Death.Attempts), First: o.Death.First, Last: o.Death.Last,
	}
	if o.Death.Channel != "" {
		d.Channel = o.Death.Channel
	}
	return d
}
