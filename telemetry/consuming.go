package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

const (
	// mostLinks is how many links a span has at most. The SDK keeps no more by default.
	mostLinks = 128

	deliveryCount = attribute.Key("godwit.delivery.attempt")
	offsetKey     = semconv.MessagingKafkaOffsetKey
)

// errUnreturned is the error of a handler that panics. The consumer recovers the panic, with its stack.
var errUnreturned = errors.New("the handler panicked or ended its goroutine")

// consuming observes one consumer.
type consuming struct {
	t       *Telemetry
	process spanKind
	receive spanKind
	settle  spanKind
	metrics *consumerMeter
}

// spanKind is what all spans of one operation have in common.
type spanKind struct {
	name  string
	start []trace.SpanStartOption
}

func kindOf(operation, channel string, kind trace.SpanKind, at, more []attribute.KeyValue) spanKind {
	kvs := append(at, semconv.MessagingOperationTypeKey.String(operation), semconv.MessagingOperationName(operation))
	return spanKind{operation + " " + channel, []trace.SpanStartOption{
		trace.WithSpanKind(kind), trace.WithAttributes(append(kvs, more...)...),
	}}
}

func (c *consuming) hooks() godwit.Hooks {
	return godwit.Hooks{
		Created: c.created,
		State: func(_, to godwit.State) {
			if to == godwit.StateExited {
				c.t.gauges.remove(c.metrics)
			}
		},
		Polled:     c.polled,
		Settled:    c.settled,
		Renewed:    func(r godwit.Renewal) { c.metrics.renewed(&r) },
		BodyRead:   func(_ *godwit.Delivery, r godwit.BodyRead) { c.metrics.bodyRead(&r) },
		Retried:    func(*godwit.Delivery, time.Duration, error) { c.metrics.retried() },
		DeadLetter: func(_ *godwit.Delivery, death godwit.Death) { c.metrics.died(death.Kind) },
		TimedOut:   func(*godwit.Delivery) { c.metrics.timedOut() },
		Abandoned:  func(*godwit.Delivery, []byte) { c.metrics.abandoned() },
		LeaseLost:  func(*godwit.Delivery) { c.metrics.leaseLost() },
		Released:   func(*godwit.Delivery) { c.metrics.released() },
		Discarded:  func(d godwit.Discarded) { c.metrics.discarded(d) },
		Breaker:    func(open bool, _ error) { c.metrics.breaker(open) },
		SettleFailed: func(*godwit.Delivery, error) {
			c.metrics.unsettled()
		},
	}
}

// created is called before anything is received.
func (c *consuming) created(consumer *godwit.Consumer) {
	name, where := consumer.Channel(), consumer.Address()
	at := address(name, where)
	c.process = kindOf("process", name, trace.SpanKindConsumer, at, nil)
	c.receive = kindOf("receive", name, trace.SpanKindClient, at, nil)
	c.settle = kindOf("settle", name, trace.SpanKindClient, at, nil)
	c.metrics = c.t.meters.consumer(consumer, at)
	c.t.gauges.add(c.metrics)
}

// middleware makes the span of a handler, and measures it.
func (c *consuming) middleware(next godwit.Handler) godwit.Handler {
	if c.t.tracer == nil {
		return c.measured(next)
	}
	return func(ctx context.Context, d *godwit.Delivery) (err error) {
		begun := c.metrics.began(d)
		ctx, span := c.start(ctx, d)
		ended := false
		defer func() {
			if !ended { // it panics, or ends its goroutine
				fail(ctx, span, errUnreturned)
				span.End()
				c.metrics.ended(ctx, begun, errUnreturned)
			}
		}()
		err = next(ctx, d)
		ended = true
		fail(ctx, span, err)
		span.End()
		c.metrics.ended(ctx, begun, err)
		return err
	}
}

// measured measures a handler without spans.
func (c *consuming) measured(next godwit.Handler) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) (err error) {
		begun, ended := c.metrics.began(d), false
		defer func() {
			if !ended {
				c.metrics.ended(ctx, begun, errUnreturned)
			}
		}()
		err = next(ctx, d)
		ended = true
		c.metrics.ended(ctx, begun, err)
		return err
	}
}

// start starts the span of one delivery.
func (c *consuming) start(ctx context.Context, d *godwit.Delivery) (context.Context, trace.Span) {
	ctx, from := c.t.carrier.extract(ctx, d.Headers)
	if c.t.carrier.malformed(d.Headers, from) {
		c.metrics.malformed()
	}
	var room [8]trace.SpanStartOption
	opts := append(room[:0], c.process.start...)
	if !c.t.carrier.parent || !from.IsValid() {
		opts = append(opts, trace.WithNewRoot())
	}
	var at driver.Provenance
	d.As(&at)
	var links []trace.Link
	if from.IsValid() && !c.t.carrier.parent {
		links = append(links, trace.Link{SpanContext: from})
	}
	if at.Trace != "" {
		if aws := xray(at.Trace); aws.IsValid() && aws.TraceID() != from.TraceID() {
			links = append(links, trace.Link{SpanContext: aws})
		}
	}
	if len(links) > 0 {
		opts = append(opts, trace.WithLinks(links...))
	}
	opts = append(opts, trace.WithAttributes(c.attributes(d, &at)...))
	return c.t.tracer.Start(ctx, c.process.name, opts...)
}

// attributes are those of one delivery.
func (c *consuming) attributes(d *godwit.Delivery, at *driver.Provenance) []attribute.KeyValue {
	kvs := make([]attribute.KeyValue, 2, 5)
	kvs[0], kvs[1] = semconv.MessagingMessageID(d.ID), deliveryCount.Int(d.Attempt)
	if at.Partition != "" {
		kvs = append(kvs, semconv.MessagingDestinationPartitionID(at.Partition), offsetKey.Int64(at.Offset))
	}
	return kvs
}

// batchMiddleware makes the span of a batch handler, and measures it. A batch of several deliveries has links to all of
// them; its traces cannot all be continued.
func (c *consuming) batchMiddleware(next godwit.BatchHandler) godwit.BatchHandler {
	return func(ctx context.Context, ds []*godwit.Delivery) error {
		begun, ended := c.metrics.began(ds...), false
		var span trace.Span
		switch {
		case c.t.tracer == nil:
			span = trace.SpanFromContext(context.Background()) // it records nothing
		case len(ds) == 1:
			ctx, span = c.start(ctx, ds[0])
		default:
			opts := append([]trace.SpanStartOption{trace.WithNewRoot(), c.links(ds)}, c.process.start...)
			ctx, span = c.t.tracer.Start(ctx, c.process.name,
				append(opts, trace.WithAttributes(semconv.MessagingBatchMessageCount(len(ds))))...)
			for _, d := range ds {
				if from := c.t.carrier.trace(d.Headers); c.t.carrier.malformed(d.Headers, from) {
					c.metrics.malformed()
				}
			}
		}
		defer func() {
			if !ended {
				fail(ctx, span, errUnreturned)
				span.End()
				c.metrics.ended(ctx, begun, errUnreturned)
			}
		}()
		err := next(ctx, ds)
		ended = true
		fail(ctx, span, err)
		span.End()
		c.metrics.ended(ctx, begun, err)
		return err
	}
}

// links are the traces of deliveries, each with the message's id.
func (c *consuming) links(ds []*godwit.Delivery) trace.SpanStartOption {
	links := make([]trace.Link, 0, min(len(ds), mostLinks))
	for _, d := range ds {
		if len(links) == mostLinks {
			break
		}
		if from := c.t.carrier.trace(d.Headers); from.IsValid() {
			links = append(links, trace.Link{
				SpanContext: from, Attributes: []attribute.KeyValue{semconv.MessagingMessageID(d.ID)},
			})
		}
	}
	return trace.WithLinks(links...)
}

// polled makes the span of a poll that has returned something, or has failed. One that has only waited has none.
func (c *consuming) polled(p godwit.Poll) {
	c.metrics.polled(&p)
	if c.t.tracer != nil && (len(p.Deliveries) > 0 || p.Err != nil) {
		c.request(&c.receive, p.Deliveries, p.Began, p.Took, p.Err)
	}
}

// settled makes the span of a request with settlements.
func (c *consuming) settled(s godwit.Settling) {
	c.metrics.settled(&s)
	if c.t.tracer != nil {
		c.request(&c.settle, s.Deliveries, s.Began, s.Took, s.Err)
	}
}

// request makes the span of a request that has ended.
func (c *consuming) request(
	kind *spanKind, ds []*godwit.Delivery, began time.Time, took time.Duration, err error,
) {
	opts := append([]trace.SpanStartOption{trace.WithTimestamp(began), c.links(ds)}, kind.start...)
	switch len(ds) {
	case 0:
	case 1:
		opts = append(opts, trace.WithAttributes(semconv.MessagingMessageID(ds[0].ID)))
	default:
		opts = append(opts, trace.WithAttributes(semconv.MessagingBatchMessageCount(len(ds))))
	}
	_, span := c.t.tracer.Start(context.Background(), kind.name, opts...)
	fail(context.Background(), span, err)
	span.End(trace.WithTimestamp(began.Add(took)))
}
