package telemetry

import (
	"context"
	"errors"
	"slices"
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
	kind  trace.SpanStartOption
	attrs []attribute.KeyValue
}

func kindOf(operation, channel string, kind trace.SpanKind, at []attribute.KeyValue) spanKind {
	return spanKind{operation + " " + channel, trace.WithSpanKind(kind), slices.Clip(append(at,
		semconv.MessagingOperationTypeKey.String(operation), semconv.MessagingOperationName(operation)))}
}

// with returns the attributes with room for more, in one allocation. The SDK copies what it keeps.
func (k *spanKind) with(more int) []attribute.KeyValue {
	return append(make([]attribute.KeyValue, 0, len(k.attrs)+more), k.attrs...)
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
		Unopened:   func(n int) { c.metrics.unopened(n) },
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
	c.process = kindOf("process", name, trace.SpanKindConsumer, at)
	c.receive = kindOf("receive", name, trace.SpanKindClient, at)
	c.settle = kindOf("settle", name, trace.SpanKindClient, at)
	c.metrics = c.t.meters.consumer(consumer, at)
	c.t.gauges.add(c.metrics)
}

// middleware makes the span of a handler, and measures it.
func (c *consuming) middleware(next godwit.Handler) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		begun, span := c.metrics.began(d), unrecorded
		if c.t.tracer != nil {
			ctx, span = c.start(ctx, d)
		}
		return c.observe(ctx, span, begun, func() error { return next(ctx, d) })
	}
}

// unrecorded is the span where there are no traces.
var unrecorded = trace.SpanFromContext(context.Background())

// observe calls a handler, ends its span, and measures it.
func (c *consuming) observe(ctx context.Context, span trace.Span, begun time.Time, handle func() error) (err error) {
	err = errUnreturned // it stays if the handler panics, or ends its goroutine
	defer func() {
		fail(ctx, span, err)
		span.End()
		c.metrics.ended(ctx, begun, err)
	}()
	return handle()
}

// starting is what the start of one span needs. It is one allocation.
type starting struct {
	opts  [4]trace.SpanStartOption
	at    driver.Provenance
	links [2]trace.Link
}

// start starts the span of one delivery.
func (c *consuming) start(ctx context.Context, d *godwit.Delivery) (context.Context, trace.Span) {
	ctx, from := c.t.carrier.extract(ctx, d.Headers)
	if c.t.carrier.malformed(d.Headers, from) {
		c.metrics.malformed()
	}
	var s starting
	d.As(&s.at)
	opts := append(s.opts[:0], c.process.kind, trace.WithAttributes(c.attributes(d, &s.at)...))
	if !c.t.carrier.parent || !from.IsValid() {
		opts = append(opts, trace.WithNewRoot())
	}
	links := s.links[:0]
	if from.IsValid() && !c.t.carrier.parent {
		links = append(links, trace.Link{SpanContext: from})
	}
	if s.at.Trace != "" {
		if aws := xray(s.at.Trace); aws.IsValid() && aws.TraceID() != from.TraceID() {
			links = append(links, trace.Link{SpanContext: aws})
		}
	}
	if len(links) > 0 {
		opts = append(opts, trace.WithLinks(links...))
	}
	return c.t.tracer.Start(ctx, c.process.name, opts...)
}

// attributes are those of one delivery.
func (c *consuming) attributes(d *godwit.Delivery, at *driver.Provenance) []attribute.KeyValue {
	kvs := append(c.process.with(4), semconv.MessagingMessageID(d.ID), deliveryCount.Int(d.Attempt))
	if at.Partition != "" {
		kvs = append(kvs, semconv.MessagingDestinationPartitionID(at.Partition), offsetKey.Int64(at.Offset))
	}
	return kvs
}

// batchMiddleware makes the span of a batch handler, and measures it. A batch of several deliveries has links to all of
// them; its traces cannot all be continued.
func (c *consuming) batchMiddleware(next godwit.BatchHandler) godwit.BatchHandler {
	return func(ctx context.Context, ds []*godwit.Delivery) error {
		begun, span := c.metrics.began(ds...), unrecorded
		switch {
		case c.t.tracer == nil:
		case len(ds) == 1:
			ctx, span = c.start(ctx, ds[0])
		default:
			ctx, span = c.t.tracer.Start(ctx, c.process.name, trace.WithNewRoot(), c.links(ds), c.process.kind,
				trace.WithAttributes(append(c.process.with(1), semconv.MessagingBatchMessageCount(len(ds)))...))
			for _, d := range ds {
				if from := c.t.carrier.trace(d.Headers); c.t.carrier.malformed(d.Headers, from) {
					c.metrics.malformed()
				}
			}
		}
		return c.observe(ctx, span, begun, func() error { return next(ctx, ds) })
	}
}

// links are the traces of deliveries, each with the message's id.
func (c *consuming) links(ds []*godwit.Delivery) trace.SpanStartOption {
	n := min(len(ds), mostLinks)
	links, ids := make([]trace.Link, 0, n), make([]attribute.KeyValue, 0, n)
	for _, d := range ds {
		if len(links) == mostLinks {
			break
		}
		if from := c.t.carrier.trace(d.Headers); from.IsValid() {
			ids = append(ids, semconv.MessagingMessageID(d.ID))
			links = append(links, trace.Link{SpanContext: from, Attributes: slices.Clip(ids[len(ids)-1:])})
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
	attrs := kind.with(1)
	switch len(ds) {
	case 0:
	case 1:
		attrs = append(attrs, semconv.MessagingMessageID(ds[0].ID))
	default:
		attrs = append(attrs, semconv.MessagingBatchMessageCount(len(ds)))
	}
	_, span := c.t.tracer.Start(context.Background(), kind.name, trace.WithTimestamp(began), c.links(ds), kind.kind,
		trace.WithAttributes(attrs...))
	fail(context.Background(), span, err)
	span.End(trace.WithTimestamp(began.Add(took)))
}
