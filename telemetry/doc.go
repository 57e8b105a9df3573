// Package telemetry connects Godwit to OpenTelemetry: traces, metrics and logs in the form that the semantic
// conventions for messaging give them.
//
// A [Telemetry] observes any number of producers and consumers. It changes their options, by middleware and hooks:
//
//	t, err := telemetry.New(&telemetry.Options{Tracers: otel.GetTracerProvider()})
//	p, err := godwit.NewProducer(ctx, backend, "orders", t.Producer(nil))
//	c, err := godwit.NewConsumer(ctx, backend, "orders", t.Consumer(&godwit.ConsumerOptions{Concurrency: 8}))
//	http.Handle("GET /metrics", t.Handler())
//
// A trace has these spans. Send orders (PRODUCER) lasts until the outcome of a message is known. Its context travels in
// headers of the message: traceparent and tracestate. Receive orders and settle orders (CLIENT) are requests of a
// consumer, with a link to each message. Process orders (CONSUMER) is one start of a handler; it begins a trace of its
// own with a link to the message or, with [Options].Parent, continues the message's trace. No span exists for a wait.
//
// Metrics have the labels that docs/telemetry.md lists, which are bounded: never a key, a tenant or an id.
//
// A message, a handler or a request never waits for an exporter, as long as the provider's processor does not: use the
// batch processor of the SDK.
package telemetry
