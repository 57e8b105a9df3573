package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/godwitmq/godwit/telemetry/emf"
)

// meter returns a meter whose metrics are written by flush, and returned as decoded lines.
func meter(t *testing.T, o *emf.Options) (m metric.Meter, flush func() []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	e, err := emf.New(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e, sdk.WithInterval(time.Hour))))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p.Meter("test"), func() (lines []map[string]any) {
		t.Helper()
		out.Reset()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Errorf("flush: %v", err)
		}
		for line := range strings.Lines(out.String()) {
			var decoded map[string]any
			if err := json.Unmarshal([]byte(line), &decoded); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			lines = append(lines, decoded)
		}
		return lines
	}
}

// Metrics with the same attributes are one event, in the form that CloudWatch's specification prescribes. A counter
// reports what is new, and nothing if there is nothing new; a gauge reports its value each time.
func TestMetricsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, flush := meter(t, &emf.Options{Namespace: "Shop", Dimensions: map[string]string{"service": "cart"}})
		sent, _ := m.Int64Counter("sent", metric.WithUnit("{message}"))
		size, _ := m.Float64Gauge("size", metric.WithUnit("By"))
		took, _ := m.Float64Histogram("took", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 2, 4))
		orders := metric.WithAttributes(attribute.String("channel", "orders"), attribute.String("empty", ""))
		sent.Add(t.Context(), 3, orders)
		size.Record(t.Context(), 1.5, orders)
		for _, s := range []float64{0.5, 0.5, 3, 7} {
			took.Record(t.Context(), s, orders)
		}
		want := map[string]any{
			"_aws": map[string]any{
				"Timestamp": float64(time.Now().UnixMilli()),
				"CloudWatchMetrics": []any{map[string]any{
					"Namespace": "Shop", "Dimensions": []any{[]any{"channel", "service"}},
					"Metrics": []any{
						map[string]any{"Name": "sent", "Unit": "Count"},
						map[string]any{"Name": "size", "Unit": "Bytes"},
						map[string]any{"Name": "took", "Unit": "Seconds"},
					},
				}},
			},
			"channel": "orders", "service": "cart", "sent": 3.0, "size": 1.5,
			"took": map[string]any{
				"Values": []any{0.75, 3.0, 5.5}, "Counts": []any{2.0, 1.0, 1.0}, "Min": 0.5, "Max": 7.0, "Count": 4.0,
				"Sum": 11.0,
			},
		}
		if diff := cmp.Diff([]map[string]any{want}, flush()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
		again := flush()
		if len(again) != 1 || again[0]["sent"] != nil || again[0]["took"] != nil || again[0]["size"] != 1.5 {
			t.Errorf("without measurements: %v", again)
		}
		sent.Add(t.Context(), 2, orders)
		sent.Add(t.Context(), 1) // without attributes
		third := flush()
		slices.SortFunc(third, func(a, b map[string]any) int { return len(b) - len(a) })
		if len(third) != 2 || third[0]["sent"] != 2.0 || third[1]["sent"] != 1.0 || third[1]["channel"] != nil {
			t.Errorf("after three more: %v", third)
		}
	})
}

// Other attributes are another event, and CloudWatch reads a hundred metrics of one.
func TestEventsAreSplit(t *testing.T) {
	m, flush := meter(t, nil)
	for i := range 250 {
		c, _ := m.Int64Counter(fmt.Sprint("c", i))
		c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("channel", "orders")))
		if i < 3 {
			c.Add(t.Context(), 1, metric.WithAttributes(attribute.String("channel", "mail")))
		}
	}
	counts := map[string][]int{}
	for _, line := range flush() {
		of := line["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)[0].(map[string]any)
		channel := line["channel"].(string)
		counts[channel] = append(counts[channel], len(of["Metrics"].([]any)))
		if of["Namespace"] != "Godwit" {
			t.Errorf("namespace %v", of["Namespace"])
		}
	}
	if diff := cmp.Diff(map[string][]int{"orders": {100, 100, 50}, "mail": {3}}, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What CloudWatch does not accept is named by an error, and the rest is written.
func TestValuesThatCloudWatchDoesNotAccept(t *testing.T) {
	var out bytes.Buffer
	e, err := emf.New(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e)))
	m := p.Meter("test")
	good, _ := m.Int64Counter("good")
	nan, _ := m.Float64Gauge("nan")
	named, _ := m.Int64Counter("channel")
	foreign, _ := m.Int64Counter("foreign")
	good.Add(t.Context(), 1)
	nan.Record(t.Context(), math.NaN())
	named.Add(t.Context(), 1, metric.WithAttributes(attribute.String("channel", "x")))
	foreign.Add(t.Context(), 1, metric.WithAttributes(attribute.String("channel", "größe")))
	err = p.ForceFlush(t.Context())
	for _, part := range []string{
		"nan: a value is not a number", "channel: its name is that", "foreign: dimension channel",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"good":1`) {
		t.Errorf("written: %s", got)
	}
}

func TestOptionsThatCannotBeRight(t *testing.T) {
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprint("d", i)] = "x"
	}
	for part, o := range map[string]emf.Options{
		"Namespace is \"AWS/SQS\"": {Namespace: "AWS/SQS"}, "letters, digits": {Namespace: "a b"},
		"21 entries": {Dimensions: many}, "is no name": {Dimensions: map[string]string{":x": "1"}},
		"_aws":            {Dimensions: map[string]string{"_aws": "1"}},
		"dimension stage": {Dimensions: map[string]string{"stage": " "}},
	} {
		if _, err := emf.New(&bytes.Buffer{}, &o); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := emf.New(nil, nil); err == nil {
		t.Error("without a writer there is no error")
	}
}

// full is a writer that refuses.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestAWriterThatRefuses(t *testing.T) {
	e, err := emf.New(full{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(e)))
	c, _ := p.Meter("test").Int64Counter("c")
	c.Add(t.Context(), 1)
	if err := p.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("flush: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := e.Export(t.Context(), nil); !errors.Is(err, sdk.ErrExporterShutdown) {
		t.Errorf("export after the end: %v", err)
	}
}
