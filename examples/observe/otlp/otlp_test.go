package otlp_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/examples/observe/otlp"
	"github.com/godwitmq/godwit/local"
)

// receiver decodes what exporters send.
type receiver struct {
	t       *testing.T
	mu      sync.Mutex
	service string
	spans   []*tracepb.Span
	metrics map[string]*metricpb.Metric // the latest of each name
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var answer proto.Message
	switch request.URL.Path {
	case "/v1/traces":
		var in traces.ExportTraceServiceRequest
		r.decode(body, &in)
		for _, of := range in.ResourceSpans {
			r.service = value(of.Resource.Attributes, "service.name")
			for _, scope := range of.ScopeSpans {
				if scope.Scope.Name == "github.com/godwitmq/godwit/telemetry" {
					r.spans = append(r.spans, scope.Spans...)
				}
			}
		}
		answer = &traces.ExportTraceServiceResponse{}
	case "/v1/metrics":
		var in metrics.ExportMetricsServiceRequest
		r.decode(body, &in)
		for _, of := range in.ResourceMetrics {
			for _, scope := range of.ScopeMetrics {
				for _, m := range scope.Metrics {
					r.metrics[m.Name] = m
				}
			}
		}
		answer = &metrics.ExportMetricsServiceResponse{}
	default:
		r.t.Errorf("a request for %s", request.URL.Path)
	}
	out, err := proto.Marshal(answer)
	if err != nil {
		r.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func (r *receiver) decode(body []byte, into proto.Message) {
	if err := proto.Unmarshal(body, into); err != nil {
		r.t.Error(err)
	}
}

func value(kvs []*common.KeyValue, key string) string {
	for _, kv := range kvs {
		if kv.Key == key {
			if n, ok := kv.Value.Value.(*common.AnyValue_IntValue); ok {
				return fmt.Sprint(n.IntValue)
			}
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// exchange sends messages and handles them, until as many were handled.
func exchange(t *testing.T, o otlp.Options, n int, h godwit.Handler) (stop func(context.Context) error) {
	t.Helper()
	tel, stop, err := otlp.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", tel.Producer(nil))
	if err != nil {
		t.Fatal(err)
	}
	c, err := godwit.NewConsumer(t.Context(), b, "orders", tel.Consumer(&godwit.ConsumerOptions{
		MaxAttempts: 1, Concurrency: 4, Logger: slog.New(slog.DiscardHandler),
	}))
	if err != nil {
		t.Fatal(err)
	}
	ms := make([]godwit.Message, n)
	for i := range ms {
		ms[i].Body = []byte("x")
	}
	if err := p.SendBatch(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	ctx, enough := context.WithCancel(t.Context())
	var left sync.WaitGroup
	left.Add(n)
	go func() { left.Wait(); enough() }()
	report, err := c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		defer left.Done()
		return h(ctx, d)
	})
	if err != nil || report.Received != int64(n) {
		t.Errorf("%+v, %v", report, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return stop
}

// A receiver that decodes OTLP gets one trace from the producer to the handler, and the metrics.
func TestEndToEnd(t *testing.T) {
	r := &receiver{t: t, metrics: map[string]*metricpb.Metric{}}
	server := httptest.NewServer(r)
	defer server.Close()
	stop := exchange(t, otlp.Options{Service: "shop", URL: server.URL}, 1,
		func(context.Context, *godwit.Delivery) error { return errors.New("no such user") })
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.service != "shop" {
		t.Errorf("the service is %q", r.service)
	}
	by := map[string]*tracepb.Span{}
	for _, s := range r.spans {
		by[strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")+" "+s.Name] = s
	}
	sent, handled := by["PRODUCER send orders"], by["CONSUMER process orders"]
	received, settled := by["CLIENT receive orders"], by["CLIENT settle orders"]
	if sent == nil || handled == nil || received == nil || settled == nil || len(r.spans) != 4 {
		t.Fatalf("the spans are %v", r.spans)
	}
	if !bytes.Equal(handled.TraceId, sent.TraceId) || !bytes.Equal(handled.ParentSpanId, sent.SpanId) {
		t.Errorf("%x, the handler's span, is not a child of %x", handled.SpanId, sent.SpanId)
	}
	for _, s := range []*tracepb.Span{received, settled} {
		if len(s.Links) != 1 || !bytes.Equal(s.Links[0].SpanId, sent.SpanId) || bytes.Equal(s.TraceId, sent.TraceId) {
			t.Errorf("%s has no link to the message: %v", s.Name, s)
		}
	}
	for key, want := range map[string]string{
		"messaging.system": "aws_sqs", "messaging.destination.name": "orders", "messaging.operation.name": "process",
		"messaging.operation.type": "process", "error.type": "_OTHER",
		"messaging.message.id": value(sent.Attributes, "messaging.message.id"),
	} {
		if got := value(handled.Attributes, key); got != want || got == "" {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if handled.Status.Code != tracepb.Status_STATUS_CODE_ERROR || handled.Status.Message != "no such user" {
		t.Errorf("the status is %v", handled.Status)
	}
	if id := hex.EncodeToString(sent.TraceId); len(id) != 32 {
		t.Errorf("the trace is %q", id)
	}

	took := r.metrics["messaging.process.duration"].GetHistogram()
	if took == nil || len(took.DataPoints) != 1 || took.DataPoints[0].Count != 1 ||
		len(took.DataPoints[0].ExplicitBounds) != 14 {
		t.Errorf("messaging.process.duration: %v", took)
	}
	dead := r.metrics["godwit.dead_letters"].GetSum()
	if dead == nil || !dead.IsMonotonic || len(dead.DataPoints) < 8 {
		t.Fatalf("godwit.dead_letters: %v", dead)
	}
	for _, p := range dead.DataPoints { // the counters of all kinds begin with zero
		kind := value(p.Attributes, "godwit.kind")
		if n := p.GetAsInt(); (n == 1) != (kind == "exhausted") || n > 1 {
			t.Errorf("%d dead letters are %s", n, kind)
		}
	}
	count := r.metrics["messaging.client.sent.messages"].GetSum()
	if count == nil || count.DataPoints[0].GetAsInt() != 1 {
		t.Errorf("messaging.client.sent.messages: %v", count)
	}
}

// roundTripper is a collector that behaves badly.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// manyMessages are more than the queue of spans has.
const manyMessages = 5000

// No message waits for a collector that hangs or refuses. Its errors are counted, and logged once a minute.
func TestACollectorThatDoesNotWork(t *testing.T) {
	for name, collector := range map[string]roundTripper{
		"hangs": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"refuses": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"fails": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
		},
		"is confused": func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-protobuf"}},
				Body: io.NopCloser(strings.NewReader("<html>")),
			}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				begun := time.Now()
				stop := exchange(t, otlp.Options{
					URL: "http://collector.internal", Client: &http.Client{Transport: collector},
					Every: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				}, manyMessages, func(context.Context, *godwit.Delivery) error { return nil })
				if waited := time.Since(begun); waited > time.Second {
					t.Errorf("the messages took %v", waited)
				}
				time.Sleep(10 * time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_ = stop(ctx)
				// An export lasts 30 s, and chance decides how many small ones the SDK makes. The one that the stop
				// abandons ends by itself.
				time.Sleep(time.Minute)
				lines := strings.Count(log.String(), "could not be exported")
				if lines < 5 || lines > 11 || !strings.Contains(log.String(), "repeated=") {
					t.Errorf("%d lines in ten minutes:\n%s", lines, log.String())
				}
			})
		})
	}
}
