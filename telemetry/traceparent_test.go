package telemetry

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
)

// The trace context of any headers is read and written as OpenTelemetry's own propagator does, but for a dash at the
// end of version 00, which the standard does not allow.
func FuzzTraceparent(f *testing.F) {
	const valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, parent := range []string{
		valid, "cc" + valid[2:] + "-more", "ff" + valid[2:], valid + "-", valid[:53] + "02", valid[:53] + "04",
		"01" + valid[2:53] + "ff", strings.ToUpper(valid), "", "00-", strings.Repeat("-", 55), strings.Repeat("é", 28),
	} {
		f.Add(parent, "")
		f.Add(parent, "a=1,b@c=2")
		f.Add(parent, "=")
	}
	f.Fuzz(func(t *testing.T, parent, state string) {
		headers := godwit.Headers{{Name: traceparent, Value: parent}, {Name: tracestate, Value: state}}
		got := parse(headers)
		theirs := propagation.TraceContext{}.Extract(context.Background(), reader{headers})
		want := trace.SpanContextFromContext(theirs)
		if len(parent) > parentSize && strings.HasPrefix(parent, "00") {
			want = trace.SpanContext{}
		}
		if !got.Equal(want) {
			t.Errorf("%q, %q: read %+v, want %+v", parent, state, got, want)
		}
		var written writer
		propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), got), &written)
		own := headersOf(got)
		for _, name := range []string{traceparent, tracestate} {
			if own.Value(name) != godwit.Headers(written).Value(name) {
				t.Errorf("%q, %q: wrote %v, want %v", parent, state, own, written)
			}
		}
	})
}
