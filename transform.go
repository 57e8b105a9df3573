package godwit

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// TransformFunc computes the messages that result from a delivery; it may return none. Its context is that of a
// [Handler]. If it returns an error, its messages are not used, and the consumer's [Policy] decides.
type TransformFunc func(ctx context.Context, d *Delivery) ([]Message, error)

// Transform is [Consumer.Run] with a function whose messages the producer's channel gets exactly once: the messages
// that result from a delivery are accepted in one transaction with the delivery's completion, or not at all. A retry or
// a dead letter is in a transaction, too. Deliveries are handled concurrently and in order as usual.
//
// Only messages from Kafka to Kafka are exactly once, for consumers that read committed records, as those of this
// package do. Everything else that f does may be repeated: after a crash, or when a partition moves to another process,
// f is called again for deliveries whose results were not committed yet.
//
// The consumer and the producer must be of the same backend, a kafka.Backend; all others are refused. The producer's
// middleware runs around each message, and may be used for other messages, too, which are not in transactions.
// Its Report and Health do not count the messages of transactions, whose failures are errors of the consumer's Health.
// Transform does not close the producer. Message.Receipt is refused, because it would be known only after f.
func Transform(ctx context.Context, c *Consumer, p *Producer, f TransformFunc) (Report, error) {
	t, err := newTransformation(c, p, f)
	if err != nil {
		return Report{}, err
	}
	a := c.With(t.handle)
	a.transform = t
	return c.runAlone(ctx, a)
}

// transformation is a call of Transform.
type transformation struct {
	c    *Consumer
	p    *Producer
	f    TransformFunc
	able driver.Transformer
	recv driver.TransformReceiver // set before the first delivery
}

func newTransformation(c *Consumer, p *Producer, f TransformFunc) (*transformation, error) {
	switch {
	case c == nil:
		return nil, invalid("consumer of Transform", "nil", "create one with NewConsumer")
	case p == nil:
		return nil, invalid("producer of Transform", "nil", "create one with NewProducer")
	case f == nil:
		return nil, invalid("function of Transform", "nil", "it needs a function that returns the resulting messages")
	}
	able, ok := c.backend.(driver.Transformer)
	if !ok {
		return nil, invalid("backend of "+c.name, fmt.Sprintf("%T", c.backend),
			"it has no transactions, so messages cannot be sent exactly once: use a kafka.Backend, or handlers that "+
				"send by Producer.Send, and Idempotent consumers of the results")
	}
	if c.backend != p.backend {
		return nil, invalid("producer of Transform", p.name,
			"it is of another backend than the consumer of "+c.name+": create both with the same one, so that they "+
				"can share a transaction")
	}
	return &transformation{c: c, p: p, f: f, able: able}, nil
}

// open opens the consumer's receiver.
func (t *transformation) open(ctx context.Context, o driver.ReceiverOptions) (driver.Receiver, error) {
	recv, err := t.able.Transform(ctx, t.c.channel, t.p.sender, o)
	if err != nil {
		return nil, err
	}
	t.recv = recv
	return recv, nil
}

// results are the messages of one delivery, until all middleware has returned.
type results struct{ messages []driver.Prepared }

// resultsKey is the key of a handler's results in its context.
type resultsKey struct{}

// around wraps a handler with its middleware. If all of it succeeds, the messages are attached to the delivery.
func (t *transformation) around(next Handler) Handler {
	return func(ctx context.Context, d *Delivery) error {
		var rs results
		// A handler that ignores its timeout may return when the item has another delivery.
		handle := d.item.Handle()
		err := next(context.WithValue(ctx, resultsKey{}, &rs), d)
		if d.IsDone(err) {
			t.recv.Attach(handle, rs.messages)
		}
		return err
	}
}

var errForeignContext = errors.New("a middleware has passed on a context that is not derived from its own, so the " +
	"messages of Transform cannot be found: derive the context from the one that the middleware gets")

// handle is the innermost handler: it calls the function and prepares its messages.
func (t *transformation) handle(ctx context.Context, d *Delivery) error {
	rs, ok := ctx.Value(resultsKey{}).(*results)
	if !ok {
		return Fatal(errForeignContext)
	}
	rs.messages = nil // of an earlier call by the same middleware
	ms, err := t.f(ctx, d)
	if err != nil {
		return err
	}
	prepared := make([]driver.Prepared, len(ms))
	for i := range ms {
		if prepared[i], err = t.prepare(ctx, ms[i]); err != nil {
			return err
		}
	}
	rs.messages = prepared
	return nil
}

// prepare calls the producer's middleware for a message and encodes it.
func (t *transformation) prepare(ctx context.Context, m Message) (driver.Prepared, error) {
	if m.Receipt != nil {
		return driver.Prepared{}, t.p.error("send", Permanent(invalid("Message.Receipt", "set",
			"the message is accepted after the function of Transform has returned: remove it")))
	}
	if t.p.isClosed() {
		return driver.Prepared{}, t.p.error("send", Fatal(ErrClosed))
	}
	var out outgoing
	err := t.p.prepareThrough(ctx, m, &out, nil)
	return out.Prepared, err
}
