package telemetry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/telemetry"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
	valid   = "00-" + traceID + "-" + spanID + "-01"
)

// A trace context of another program that is malformed or hostile is ignored and counted, and its message is handled.
func TestForeignTraceContexts(t *testing.T) {
	for _, c := range []struct {
		name, parent, state string
		want                string // the span's parent and state; "": a trace of its own
		counted             float64
	}{
		{"none", "", "", "", 0},
		{"valid", valid, "", spanID, 0},
		{"with state", valid, "rojo=1,congo=t61", spanID + " rojo=1,congo=t61", 0},
		{"state of other spaces", valid, "rojo=1 , congo=t61", spanID + " rojo=1,congo=t61", 0},
		{"not sampled, so there is no span", strings.TrimSuffix(valid, "1") + "0", "", "", 0},
		{"later version", "cc-" + traceID + "-" + spanID + "-01-what-comes", "", spanID, 0},
		{"later version without more", "cc" + valid[2:], "", spanID, 0},
		{"invalid version", "ff" + valid[2:], "", "", 1},
		{"later version, not separated", "cc" + valid[2:] + "x", "", "", 1},
		{"more than version 0 has", valid + "-01", "", "", 1},
		{"upper case", strings.ToUpper(valid), "", "", 1},
		{"no trace", "00-" + strings.Repeat("0", 32) + "-" + spanID + "-01", "", "", 1},
		{"no span", "00-" + traceID + "-" + strings.Repeat("0", 16) + "-01", "", "", 1},
		{"no hexadecimal digits", strings.ReplaceAll(valid, "f", "g"), "", "", 1},
		{"other separators", strings.ReplaceAll(valid, "-", "_"), "", "", 1},
		{"short", valid[:54], "", "", 1},
		{"a word", "on", "", "", 1},
		{"long", valid + strings.Repeat("0", 100_000), "", "", 1},
		{"control characters", "00-" + traceID + "-" + spanID + "-0\n", "", "", 1},
		{"other letters", "00-" + traceID + "-" + spanID + "-٠١", "", "", 1},
		{"malformed state", valid, "rojo=1,,=,=2", spanID, 0},
		{"state with a key twice", valid, "a=1,a=2", spanID, 0},
		{"state of 9 KB", valid, "a=" + strings.Repeat("x", 9000), spanID, 0},
		{"state of 100 members", valid, strings.Repeat("a=1,", 100), spanID, 0},
		{"state alone", "", "a=1", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, telemetry.Options{Parent: true}, func(w *world) {
				p, err := godwit.NewProducer(w.Context(), w.backend, "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				m := godwit.Message{Body: []byte("x")}
				for name, value := range map[string]string{"traceparent": c.parent, "tracestate": c.state} {
					if value != "" {
						m.Headers = append(m.Headers, driver.Header{Name: name, Value: value})
					}
				}
				if err := p.Send(w.Context(), m); err != nil {
					t.Fatal(err)
				}
				handled := 0
				w.handle(w.consumer("orders", nil), time.Minute, func(context.Context, *godwit.Delivery) error {
					handled++
					return nil
				})
				if err := p.Close(w.Context()); err != nil {
					t.Error(err)
				}
				if got := w.metrics()["godwit.traces.malformed"]; got != c.counted || handled != 1 {
					t.Errorf("handled %d times, and %v malformed contexts were counted, want %v", handled, got, c.counted)
				}
				got := ""
				for _, s := range w.spans.GetSpans() {
					if s.Name == "process orders" && s.Parent.IsValid() {
						got = strings.TrimSpace(s.Parent.SpanID().String() + " " + s.Parent.TraceState().String())
						if s.Parent.TraceID().String() != traceID || !s.Parent.IsRemote() {
							t.Errorf("the parent is %+v", s.Parent)
						}
					}
				}
				if got != c.want {
					t.Errorf("the parent is %q, want %q", got, c.want)
				}
			})
		})
	}
}

// The trace header that AWS attaches becomes a link, beside that of the message.
func TestTheTraceHeaderOfAWS(t *testing.T) {
	const root = "1-5759e988-bd862e3fe1be46a994272793"
	for _, c := range []struct {
		name, header string
		want         []string // the links
	}{
		{
			"sampled", "Root=" + root + ";Parent=53995c3f42cd8ad8;Sampled=1",
			[]string{traceID + " 01", "5759e988bd862e3fe1be46a994272793 01"},
		},
		{
			"spaces, and more", "Self=1-2-3; Parent=53995c3f42cd8ad8; Root=" + root + ";Sampled=0;Lineage=a:1",
			[]string{traceID + " 01", "5759e988bd862e3fe1be46a994272793 00"},
		},
		{"without a span", "Root=" + root + ";Sampled=1", []string{traceID + " 01"}},
		{"another version", "Root=2" + root[1:] + ";Parent=53995c3f42cd8ad8", []string{traceID + " 01"}},
		{"malformed", "Root=1-5759e988bd862e3fe1be46a994272793;Parent=x;;=", []string{traceID + " 01"}},
		{
			"the same trace", "Root=1-" + traceID[:8] + "-" + traceID[8:] + ";Parent=53995c3f42cd8ad8",
			[]string{traceID + " 01"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, telemetry.Options{}, func(w *world) {
				consumer := w.consumer("orders", nil)
				w.handle(consumer, time.Second, func(context.Context, *godwit.Delivery) error { return nil })
				w.foreign("orders", sqs.SendMessageInput{
					MessageBody:       aws.String("x"),
					MessageAttributes: map[string]types.MessageAttributeValue{"traceparent": text(valid)},
					MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
						"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &c.header},
					},
				})
				w.handle(w.consumer("orders", nil), time.Minute,
					func(context.Context, *godwit.Delivery) error { return nil })
				var got []string
				for _, s := range w.spans.GetSpans() {
					for _, l := range s.Links {
						if s.Name == "process orders" {
							got = append(got, l.SpanContext.TraceID().String()+" "+l.SpanContext.TraceFlags().String())
						}
					}
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("the links (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A trace that its sender does not sample is not sampled here, and its headers travel on.
func TestATraceThatIsNotSampled(t *testing.T) {
	never := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	inWorld(t, telemetry.Options{Tracers: never, Parent: true}, func(w *world) {
		if err := w.producer("orders", nil).Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		w.handle(w.consumer("orders", nil), time.Minute, func(_ context.Context, d *godwit.Delivery) error {
			if got := d.Headers.Value("traceparent"); len(got) != len(valid) || !strings.HasSuffix(got, "-00") {
				t.Errorf("traceparent %q", got)
			}
			return nil
		})
	})
}

// wide is a propagator whose headers take 100 KiB.
type wide struct{ propagation.TraceContext }

func (w wide) Inject(ctx context.Context, c propagation.TextMapCarrier) {
	w.TraceContext.Inject(ctx, c)
	c.Set("wide", strings.Repeat("x", 100<<10))
}

// A trace context without room is dropped and counted, and its message is sent. A propagator of the user is used in
// both directions.
func TestATraceWithoutRoom(t *testing.T) {
	inWorld(t, telemetry.Options{Propagator: wide{}, Parent: true}, func(w *world) {
		p := w.producer("orders", nil)
		for _, n := range []int{10, 1<<20 - 50<<10} { // the second is nearly all that SQS takes
			full := godwit.Headers{{Name: "full", Value: strings.Repeat("x", n)}}
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x"), Headers: full}); err != nil {
				t.Error(err)
			}
		}
		traced := map[bool]int{}
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 1})
		w.handle(c, time.Minute, func(_ context.Context, d *godwit.Delivery) error {
			traced[d.Headers.Value("wide") != ""]++
			return nil
		})
		children := 0
		for _, s := range w.named("process orders", "consumer") {
			if s.Parent.IsValid() {
				children++
			}
		}
		n := w.metrics()["godwit.traces.dropped"]
		if n != 1 || traced[true] != 1 || traced[false] != 1 || children != 1 {
			t.Errorf("%v were dropped; with a trace and without, %v were handled; %d handlers have a parent", n, traced,
				children)
		}
	})
}
