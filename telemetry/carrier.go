package telemetry

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// longestHeader bounds a header that is read, because anyone who may send has written it. The standard asks for 512
// characters of tracestate, and baggage has at most 8,192.
const longestHeader = 8 << 10

// carrier writes trace contexts to messages, and reads those of deliveries.
type carrier struct {
	propagator propagation.TextMapPropagator // nil: the standard of W3C
	standard   bool                          // traceparent is read
	parent     bool                          // a handler continues the trace of its message
}

func newCarrier(p propagation.TextMapPropagator, parent bool) carrier {
	if _, w3c := p.(propagation.TraceContext); p == nil || w3c {
		return carrier{standard: true, parent: parent}
	}
	return carrier{p, slices.Contains(p.Fields(), traceparent), parent}
}

// inject returns the headers for the span of a context.
func (c *carrier) inject(ctx context.Context) godwit.Headers {
	if c.propagator == nil {
		return headersOf(trace.SpanContextFromContext(ctx))
	}
	var h writer
	c.propagator.Inject(ctx, &h)
	return godwit.Headers(h)
}

// extract returns the context with what headers carry, and their trace. The trace is not valid if they have none that
// can be read.
func (c *carrier) extract(ctx context.Context, headers godwit.Headers) (context.Context, trace.SpanContext) {
	if c.propagator == nil {
		of := parse(headers)
		if c.parent && of.IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, of)
		}
		return ctx, of
	}
	if len(headers) == 0 {
		return ctx, trace.SpanContext{}
	}
	out := c.propagator.Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), reader{headers})
	return out, trace.SpanContextFromContext(out)
}

// trace returns the trace that headers carry.
func (c *carrier) trace(headers godwit.Headers) trace.SpanContext {
	if c.propagator == nil {
		return parse(headers)
	}
	_, of := c.extract(context.Background(), headers)
	return of
}

// link gives a span links to the traces of deliveries, each with the message's id.
func (c *carrier) link(to *draft, ds []*godwit.Delivery) {
	ids := make([]attribute.KeyValue, 0, min(len(ds), mostLinks))
	for _, d := range ds {
		if len(ids) == mostLinks {
			break
		}
		if from := c.trace(d.Headers); from.IsValid() {
			ids = append(ids, semconv.MessagingMessageID(d.ID))
			to.link(from, slices.Clip(ids[len(ids)-1:])...)
		}
	}
}

// malformed reports whether headers without a valid trace have one that should have been one.
func (c *carrier) malformed(headers godwit.Headers, of trace.SpanContext) bool {
	return c.standard && !of.IsValid() && headers.Value(traceparent) != ""
}

// reader is the headers of a delivery as a propagator reads them.
type reader struct{ headers godwit.Headers }

// Get implements propagation.TextMapCarrier.
func (r reader) Get(key string) string {
	v := r.headers.Value(key)
	if len(v) > longestHeader {
		return ""
	}
	return v
}

// Set implements propagation.TextMapCarrier; a propagator does not call it to read.
func (r reader) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (r reader) Keys() []string {
	keys := make([]string, len(r.headers))
	for i := range r.headers {
		keys[i] = r.headers[i].Name
	}
	return keys
}

// writer is headers that a propagator writes.
type writer godwit.Headers

// Get implements propagation.TextMapCarrier.
func (w *writer) Get(key string) string { return godwit.Headers(*w).Value(key) }

// Set implements propagation.TextMapCarrier.
func (w *writer) Set(key, value string) { *w = append(*w, driver.Header{Name: key, Value: value}) }

// Keys implements propagation.TextMapCarrier.
func (w *writer) Keys() []string { return reader{godwit.Headers(*w)}.Keys() }

// xray reads the trace header of AWS X-Ray, such as
// Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1. The result is not valid if the header has
// no trace or no span.
func xray(header string) trace.SpanContext {
	if len(header) > longestHeader {
		return trace.SpanContext{}
	}
	c := trace.SpanContextConfig{Remote: true}
	for part := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Root":
			epoch, unique, ok := strings.Cut(strings.TrimPrefix(value, "1-"), "-")
			if !ok || !strings.HasPrefix(value, "1-") || len(epoch) != 8 {
				return trace.SpanContext{}
			}
			decode(c.TraceID[:], epoch+unique)
		case "Parent":
			decode(c.SpanID[:], value)
		case "Sampled":
			if value == "1" {
				c.TraceFlags = trace.FlagsSampled
			}
		}
	}
	return trace.NewSpanContext(c)
}

// decode sets an id. Any other text leaves zeros, which are not valid.
func decode(id []byte, text string) {
	if hex.DecodedLen(len(text)) != len(id) || len(text)%2 != 0 {
		return
	}
	if _, err := hex.Decode(id, []byte(text)); err != nil {
		clear(id)
	}
}
