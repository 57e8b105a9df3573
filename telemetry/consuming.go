package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
)

const (
	deliveryCount = attribute.Key("godwit.delivery.attempt")
	offsetKey     = semconv.MessagingKafkaOffsetKey
)

// errUnreturned is the error of a handler that panics. The consumer recovers the panic, with its stack.
var errUnreturned = errors.New("the handler panicked or ended its goroutine")

// consuming observes one consumer.
type consuming struct {
	t       *Telemetry
	process *spanKind
	receive *spanKind
	settle  *spanKind
	metrics *consumerMeter
}

func (c *consuming) hooks() godwit.Hooks {
	m := c.t.meters
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
		Retried:    func(*godwit.Delivery, time.Duration, error) { c.count(m.retries, 1) },
		DeadLetter: func(_ *godwit.Delivery, death godwit.Death) { c.metrics.kinds.of(death.Kind).count(m.dead, 1) },
		TimedOut:   func(*godwit.Delivery) { c.count(m.timedOut, 1) },
		Abandoned:  func(*godwit.Delivery, []byte) { c.count(m.abandoned, 1) },
		LeaseLost:  func(*godwit.Delivery) { c.count(m.lost, 1) },
		Released:   func(*godwit.Delivery) { c.count(m.released, 1) },
		Discarded: func(d godwit.Discarded) {
			c.metrics.reasons.of(d.Reason.String()).count(m.discarded, int64(d.Count))
		},
		Expired:  func(*godwit.Delivery) { c.count(m.expired, 1) },
		Unopened: func(n int) { c.count(m.unopened, int64(n)) },
		Breaker: func(open bool, _ error) {
			if open {
				c.count(m.breaker, 1)
			}
		},
		SettleFailed: func(*godwit.Delivery, error) { c.count(m.unsettled, 1) },
	}
}

func (c *consuming) count(in metric.Int64Counter, n int64) { c.metrics.plain.count(in, n) }

// created is called before anything is received.
func (c *consuming) created(consumer *godwit.Consumer) {
	name, where := consumer.Channel(), consumer.Address()
	at := address(name, where)
	c.process = kindOf(c.t.tracer, "process", name, trace.SpanKindConsumer, at)
	c.receive = kindOf(c.t.tracer, "receive", name, trace.SpanKindClient, at)
	c.settle = kindOf(c.t.tracer, "settle", name, trace.SpanKindClient, at)
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

// start starts the span of one delivery.
func (c *consuming) start(ctx context.Context, d *godwit.Delivery) (context.Context, trace.Span) {
	ctx, from := c.t.carrier.extract(ctx, d.Headers)
	if c.t.carrier.malformed(d.Headers, from) {
		c.count(c.t.meters.malformed, 1)
	}
	span := c.process.draft()
	span.attrs.add(semconv.MessagingMessageID(d.ID))
	if d.Attempt > 1 {
		span.attrs.add(deliveryCount.Int(d.Attempt))
	}
	if d.As(&span.from); span.from.Partition != "" {
		span.attrs.add(semconv.MessagingDestinationPartitionID(span.from.Partition), offsetKey.Int64(span.from.Offset))
	}
	if !c.t.carrier.parent || !from.IsValid() {
		span.root(ctx)
	}
	if from.IsValid() && !c.t.carrier.parent {
		span.link(from)
	}
	if span.from.Trace != "" {
		if aws := xray(span.from.Trace); aws.IsValid() && aws.TraceID() != from.TraceID() {
			span.link(aws)
		}
	}
	return c.process.start(ctx, span)
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
			batch := c.process.draft()
			batch.root(ctx)
			batch.attrs.add(semconv.MessagingBatchMessageCount(len(ds)))
			c.t.carrier.link(batch, ds)
			ctx, span = c.process.start(ctx, batch)
			for _, d := range ds {
				if from := c.t.carrier.trace(d.Headers); c.t.carrier.malformed(d.Headers, from) {
					c.count(c.t.meters.malformed, 1)
				}
			}
		}
		return c.observe(ctx, span, begun, func() error { return next(ctx, ds) })
	}
}

// polled makes the span of a poll that has returned something, or has failed. One that has only waited has none.
func (c *consuming) polled(p godwit.Poll) {
	c.metrics.polled(&p)
	if c.t.tracer != nil && (len(p.Deliveries) > 0 || p.Err != nil) {
		c.request(c.receive, p.Deliveries, p.Began, p.Took, p.Err)
	}
}

// settled makes the span of a request with settlements.
func (c *consuming) settled(s godwit.Settling) {
	c.metrics.settled(&s)
	if c.t.tracer != nil {
		c.request(c.settle, s.Deliveries, s.Began, s.Took, s.Err)
	}
}

// request makes the span of a request that has ended.
func (c *consuming) request(
	kind *spanKind, ds []*godwit.Delivery, began time.Time, took time.Duration, err error,
) {
	d := kind.draft()
	switch len(ds) {
	case 0:
	case 1:
		d.attrs.add(semconv.MessagingMessageID(ds[0].ID))
	default:
		d.attrs.add(semconv.MessagingBatchMessageCount(len(ds)))
	}
	c.t.carrier.link(d, ds)
	d.opts = append(d.opts, trace.WithTimestamp(began))
	_, span := kind.start(context.Background(), d)
	fail(context.Background(), span, err)
	span.End(trace.WithTimestamp(began.Add(took)))
}
