package telemetry_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/telemetry"
)

// world is a new backend in virtual time, with exporters in memory.
type world struct {
	*testing.T
	backend godwit.Backend
	server  *localaws.Server // nil: the backend is Kafka
	spans   *tracetest.InMemoryExporter
	traces  *sdk.TracerProvider
	reader  *metric.ManualReader
	t       *telemetry.Telemetry
	log     lines // of consumers without a logger of their own
	series  int   // that metrics has found last
}

// lines collects the lines of a logger.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// with returns the lines that have all of some texts.
func (l *lines) with(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			found = append(found, line)
		}
	}
	return found
}

// inWorld runs a test on SNS and SQS.
func inWorld(t *testing.T, o telemetry.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		w := observed(t, b, o)
		w.server = b.Server()
		f(w)
	})
}

// observed makes a world on a backend.
func observed(t *testing.T, b godwit.Backend, o telemetry.Options) *world {
	t.Helper()
	w := &world{T: t, backend: b, spans: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	w.traces = sdk.NewTracerProvider(sdk.WithSyncer(w.spans), sdk.WithIDGenerator(&ids{}))
	if o.Tracers == nil {
		o.Tracers = w.traces
	}
	o.Meters = metric.NewMeterProvider(metric.WithReader(w.reader))
	var err error
	if w.t, err = telemetry.New(&o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) producer(channel string, o *godwit.ProducerOptions) *godwit.Producer {
	w.Helper()
	p, err := godwit.NewProducer(w.Context(), w.backend, channel, w.t.Producer(o))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func (w *world) consumer(channel string, o *godwit.ConsumerOptions) *godwit.Consumer {
	w.Helper()
	c, err := godwit.NewConsumer(w.Context(), w.backend, channel, w.t.Consumer(w.logged(o)))
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// logged are options with a logger, whose lines the world keeps.
func (w *world) logged(o *godwit.ConsumerOptions) *godwit.ConsumerOptions {
	var out godwit.ConsumerOptions
	if o != nil {
		out = *o
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return &out
}

// foreign sends a message to a queue as another program does.
func (w *world) foreign(queue string, m sqs.SendMessageInput) {
	w.Helper()
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: w.server.Transport()},
	})
	m.QueueUrl = aws.String("http://localaws.internal/000000000000/" + queue)
	if _, err := client.SendMessage(w.Context(), &m); err != nil {
		w.Fatal(err)
	}
}

// text is the attribute of a message.
func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

// handle runs a consumer for a while.
func (w *world) handle(c *godwit.Consumer, d time.Duration, h godwit.Handler) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	if _, err := c.Run(ctx, h); err != nil {
		w.Errorf("run %s: %v", c.Channel(), err)
	}
}

// ids are numbers, so that a golden tree has no random ids.
type ids struct{ n atomic.Uint64 }

func (g *ids) NewIDs(ctx context.Context) (of trace.TraceID, span trace.SpanID) {
	span = g.NewSpanID(ctx, of)
	copy(of[:], span[:])
	return of, span
}

func (g *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], g.n.Add(1))
	return id
}

// tree is the spans as text: children are indented, and each line has the offset from the first span and the duration
// (not on Kafka, whose client waits a little more or less in each run) and the links. Attributes that are the same in
// all spans of a test are left out.
func (w *world) tree() string {
	spans := w.spans.GetSpans()
	order := []string{"send", "receive", "process", "settle"} // of spans that start at the same moment
	rank := func(s tracetest.SpanStub) int { return slices.Index(order, strings.Fields(s.Name)[0]) }
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	if len(spans) == 0 {
		return ""
	}
	names := map[trace.SpanID]string{}
	counts := map[string]int{}
	for _, s := range spans {
		counts[s.Name]++
		names[s.SpanContext.SpanID()] = fmt.Sprintf("%s #%d", s.Name, counts[s.Name])
	}
	var out strings.Builder
	begun := spans[0].StartTime
	var write func(parent trace.SpanID, depth int)
	write = func(parent trace.SpanID, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			fmt.Fprintf(&out, "%s%s %s", strings.Repeat("  ", depth), names[s.SpanContext.SpanID()], s.SpanKind)
			if w.server != nil {
				fmt.Fprintf(&out, " at %v for %v", s.StartTime.Sub(begun), s.EndTime.Sub(s.StartTime))
			}
			for _, kv := range s.Attributes {
				switch kv.Key {
				case "messaging.message.id":
					fmt.Fprint(&out, " with id")
				case "messaging.operation.type", "messaging.operation.name", "godwit.channel",
					"messaging.message.body.size":
				default:
					fmt.Fprintf(&out, " %s=%v", strings.TrimPrefix(string(kv.Key), "messaging."), kv.Value.String())
				}
			}
			for _, l := range s.Links {
				fmt.Fprintf(&out, " -> %s", names[l.SpanContext.SpanID()])
			}
			if s.Status.Description != "" {
				fmt.Fprintf(&out, " (%s)", s.Status.Description)
			}
			out.WriteString("\n")
			write(s.SpanContext.SpanID(), depth+1)
		}
	}
	write(trace.SpanID{}, 0)
	return out.String()
}

// metrics collects all metrics: name and labels (without those of the conventions for the service) to the value; of a
// histogram, the number of values.
func (w *world) metrics() map[string]float64 {
	w.Helper()
	var data metricdata.ResourceMetrics
	if err := w.reader.Collect(context.Background(), &data); err != nil {
		w.Fatal(err)
	}
	all := map[string]float64{}
	w.series = 0
	put := func(name string, set attribute.Set, v float64) {
		w.series++
		var labels []string
		for _, kv := range set.ToSlice() {
			switch kv.Key {
			case "messaging.system", "messaging.destination.name", "messaging.operation.type",
				"messaging.consumer.group.name", "godwit.channel":
			default:
				labels = append(labels, kv.Value.String())
			}
		}
		key := name
		if len(labels) > 0 {
			key += "{" + strings.Join(labels, ",") + "}"
		}
		all[key] += v
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Count))
				}
			default:
				w.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return all
}
