package telemetry_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/telemetry"
)

// observedHandler is what Telemetry adds to a handler, and the hooks of its consumer.
func observedHandler(tb testing.TB, o telemetry.Options) (godwit.Handler, godwit.Hooks) {
	tb.Helper()
	t, err := telemetry.New(&o)
	if err != nil {
		tb.Fatal(err)
	}
	opts := t.Consumer(nil)
	if _, err := godwit.NewConsumer(tb.Context(), inMemory(tb), "orders", opts); err != nil {
		tb.Fatal(err)
	}
	return opts.Middleware[0](func(context.Context, *godwit.Delivery) error { return nil }), opts.Hooks
}

func inMemory(tb testing.TB) godwit.Backend {
	tb.Helper()
	b, err := memdriver.Open(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// traced is a delivery as another Telemetry has sent it.
func traced() *godwit.Delivery {
	return &godwit.Delivery{
		ID: "7b1e1c8e-8f4e-4b52-a6c5-c3e9f3cdb6c3", Channel: "orders", Body: []byte("{}"),
		SentAt: time.Now(), Attempt: 1,
		Headers: godwit.Headers{
			{Name: "locale", Value: "de"},
			{Name: "traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		},
	}
}

// discarding is an exporter that does nothing.
type discarding struct{}

func (discarding) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discarding) Shutdown(context.Context) error                        { return nil }

// BenchmarkMessage measures what Telemetry adds to a message: its middleware, and its part of a poll and of a request
// with settlements, each with ten.
func BenchmarkMessage(b *testing.B) {
	for _, bc := range []struct {
		name  string
		trace bool
	}{{"metrics", false}, {"traces", true}} {
		b.Run(bc.name, func(b *testing.B) {
			o := telemetry.Options{Meters: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))}
			if bc.trace {
				p := sdk.NewTracerProvider(sdk.WithBatcher(discarding{}))
				defer func() { _ = p.Shutdown(context.Background()) }()
				o.Tracers = p
			}
			handle, hooks := observedHandler(b, o)
			ctx := context.Background()
			ds := make([]*godwit.Delivery, 10)
			for i := range ds {
				ds[i] = traced()
			}
			poll := godwit.Poll{Asked: 10, Began: time.Now(), Took: time.Millisecond, Deliveries: ds}
			settling := godwit.Settling{Done: 10, Began: time.Now(), Took: time.Millisecond, Deliveries: ds}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = handle(ctx, ds[i%10])
				if i%10 == 0 {
					hooks.Polled(poll)
					hooks.Settled(settling)
				}
			}
		})
	}
}

// BenchmarkSDK measures the SDK alone: spans as in BenchmarkMessage, begun with options that are prepared.
func BenchmarkSDK(b *testing.B) {
	p := sdk.NewTracerProvider(sdk.WithBatcher(discarding{}))
	defer func() { _ = p.Shutdown(context.Background()) }()
	tracer, ctx := p.Tracer("sdk"), context.Background()
	sent := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{
		"traceparent": traced().Headers.Value("traceparent"),
	}))
	attrs := []attribute.KeyValue{
		semconv.MessagingSystemKey.String("godwit"), semconv.MessagingDestinationName("orders"),
		semconv.MessagingOperationTypeKey.String("process"), semconv.MessagingOperationName("process"),
		semconv.MessagingMessageID(traced().ID),
	}
	links := make([]trace.Link, 10)
	for i := range links {
		links[i] = trace.Link{SpanContext: sent, Attributes: attrs[4:]}
	}
	process := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attrs...), trace.WithLinks(links[0]),
	}
	request := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...), trace.WithLinks(links...),
		trace.WithTimestamp(time.Now()),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, span := tracer.Start(ctx, "process orders", process...)
		span.End()
		if i%10 == 0 {
			_, span = tracer.Start(ctx, "receive orders", request...)
			span.End()
			_, span = tracer.Start(ctx, "settle orders", request...)
			span.End()
		}
	}
}

// BenchmarkSend measures what Telemetry adds to the sending of a message.
func BenchmarkSend(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run(map[bool]string{false: "metrics", true: "traces"}[traced], func(b *testing.B) {
			o := telemetry.Options{Meters: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))}
			if traced {
				p := sdk.NewTracerProvider(sdk.WithBatcher(discarding{}))
				defer func() { _ = p.Shutdown(context.Background()) }()
				o.Tracers = p
			}
			t, err := telemetry.New(&o)
			if err != nil {
				b.Fatal(err)
			}
			opts := t.Producer(nil)
			p, err := godwit.NewProducer(b.Context(), inMemory(b), "orders", opts)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = p.Close(context.Background()) }()
			send := func(_ context.Context, m *godwit.Message) error {
				if m.Answered != nil {
					m.Answered(godwit.Receipt{MessageID: "1"}, nil)
				}
				return nil
			}
			if len(opts.Middleware) > 0 {
				send = opts.Middleware[0](send)
			}
			ctx, body := context.Background(), []byte("{}")
			request := godwit.Sending{Messages: 10, Bytes: 100, Began: time.Now(), Took: time.Millisecond}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m := godwit.Message{Body: body}
				_ = send(ctx, &m)
				if i%10 == 0 {
					opts.Hooks.Sent(request)
				}
			}
		})
	}
}

// Metrics allocate nothing for a message.
func TestMetricsAllocateNothing(t *testing.T) {
	handle, hooks := observedHandler(t, telemetry.Options{
		Meters: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
	})
	ctx, d := context.Background(), traced()
	if n := testing.AllocsPerRun(1000, func() { _ = handle(ctx, d) }); n > 0 {
		t.Errorf("a message costs %v allocations", n)
	}
	poll := godwit.Poll{Asked: 10, Deliveries: []*godwit.Delivery{d}}
	settling := godwit.Settling{Done: 1, Rejected: 1, Deliveries: poll.Deliveries}
	if n := testing.AllocsPerRun(1000, func() { hooks.Polled(poll); hooks.Settled(settling) }); n > 0 {
		t.Errorf("a poll and a settlement cost %v allocations", n)
	}
}
