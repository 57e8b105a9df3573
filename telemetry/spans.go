package telemetry

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit/driver"
)

// mostLinks is how many links a span has at most. The SDK keeps no more by default.
const mostLinks = 128

// mostAdded is how many attributes a draft has at most besides those of its kind.
const mostAdded = 4

// spanKind starts the spans of one operation.
type spanKind struct {
	tracer trace.Tracer // nil: there are no traces
	name   string
	kind   trace.SpanStartOption
	attrs  []attribute.KeyValue // of all its spans
	drafts sync.Pool            // of *draft
}

func kindOf(
	tracer trace.Tracer, operation, channel string, kind trace.SpanKind, at []attribute.KeyValue,
) *spanKind {
	return &spanKind{
		tracer: tracer, name: operation + " " + channel, kind: trace.WithSpanKind(kind),
		attrs: append(slices.Clip(at),
			semconv.MessagingOperationTypeKey.String(operation), semconv.MessagingOperationName(operation)),
	}
}

// draft is what one span is started with. It is used again for later spans: a tracer can only copy the values of its
// options. With new ones for each span, traces cost a third more.
type draft struct {
	attrs prepared[attribute.KeyValue] // begins with those of the kind
	links prepared[trace.Link]
	opts  []trace.SpanStartOption
	from  driver.Provenance // space to ask a delivery where it is from
}

// prepared is values whose number is bounded, and an option for each number of them. They stay where they are, because
// an option reads them only when a span is started.
type prepared[T any] struct {
	values  []T
	options []trace.SpanStartOption
}

// prepare returns space for values.
func prepare[T any](most int) prepared[T] {
	return prepared[T]{make([]T, 0, most), make([]trace.SpanStartOption, most+1)}
}

func (p *prepared[T]) add(values ...T) {
	p.values = append(p.values, values...)
}

// option returns the option for the values.
func (p *prepared[T]) option(with func([]T) trace.SpanStartOption) trace.SpanStartOption {
	made := &p.options[len(p.values)]
	if *made == nil {
		*made = with(p.values)
	}
	return *made
}

func withAttributes(kvs []attribute.KeyValue) trace.SpanStartOption {
	return trace.WithAttributes(kvs...)
}
func withLinks(links []trace.Link) trace.SpanStartOption { return trace.WithLinks(links...) }

// draft begins a span.
func (k *spanKind) draft() *draft {
	if d, ok := k.drafts.Get().(*draft); ok {
		return d
	}
	d := &draft{attrs: prepare[attribute.KeyValue](len(k.attrs) + mostAdded), links: prepare[trace.Link](mostLinks)}
	d.attrs.add(k.attrs...)
	return d
}

// start starts the span of a draft, which the caller does not use after that.
func (k *spanKind) start(ctx context.Context, d *draft) (context.Context, trace.Span) {
	d.opts = append(d.opts, k.kind, d.attrs.option(withAttributes))
	if len(d.links.values) > 0 {
		d.opts = append(d.opts, d.links.option(withLinks))
	}
	ctx, span := k.tracer.Start(ctx, k.name, d.opts...)
	d.attrs.values, d.links.values = d.attrs.values[:len(k.attrs)], d.links.values[:0]
	d.opts, d.from = d.opts[:0], driver.Provenance{}
	k.drafts.Put(d)
	return ctx, span
}

// root lets a span begin a trace, also in a context that has one.
func (d *draft) root(ctx context.Context) {
	if trace.SpanContextFromContext(ctx).IsValid() { // otherwise the option changes nothing, and costs memory
		d.opts = append(d.opts, trace.WithNewRoot())
	}
}

// link links a span to another. The SDK does not copy the attributes of a link.
func (d *draft) link(to trace.SpanContext, kvs ...attribute.KeyValue) {
	d.links.add(trace.Link{SpanContext: to, Attributes: kvs})
}
