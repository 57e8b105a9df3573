package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	untraced "go.opentelemetry.io/otel/trace/noop"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/telemetry"
)

// What happens to messages is counted, by channel and outcome.
func TestMetrics(t *testing.T) {
	inWorld(t, telemetry.Options{}, func(w *world) {
		p := w.producer("orders", nil)
		c := w.consumer("orders", &godwit.ConsumerOptions{
			MaxAttempts: 2, Backoff: func(int) time.Duration { return time.Second }, Concurrency: 2,
			ProcessingTimeout: 5 * time.Minute,
		})
		for _, body := range []string{"good", "bad", "slow"} {
			if err := p.Send(w.Context(), godwit.Message{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		var during map[string]float64
		w.handle(c, 3*time.Minute, func(_ context.Context, d *godwit.Delivery) error {
			switch string(d.Body) {
			case "bad":
				return errors.New("no")
			case "slow":
				time.Sleep(time.Minute)
				w.metrics()             // begins to request the size of the backlog
				time.Sleep(time.Second) // it is answered
				during = w.metrics()
			}
			return nil
		})
		if err := p.Close(w.Context()); err != nil {
			t.Error(err)
		}
		running := map[string]float64{}
		for name, value := range during {
			if strings.HasPrefix(name, "godwit.") {
				running[name] = value
			}
		}
		for name, want := range map[string]float64{
			"godwit.deliveries.held": 1, "godwit.deliveries.waiting": 0, "godwit.workers.busy": 1,
			"godwit.workers.limit": 2, "godwit.consumers": 1, "godwit.consumers.unhealthy": 0, "godwit.polls.open": 1,
			"godwit.breaker.open": 0, "godwit.circuit.open": 0, "godwit.deliveries.size": 4, "godwit.backlog": 0,
		} {
			if got, there := running[name]; got != want || !there {
				t.Errorf("while a handler runs, %s is %v (%v), want %v", name, got, there, want)
			}
		}
		all := w.metrics()
		for name, want := range map[string]float64{
			// Counters begin with zero, so that the first event is an increase.
			"godwit.dead_letters{blocked}": 0, "godwit.dead_letters{payload-ratio}": 0, "godwit.releases": 0,
			"godwit.leases.lost": 0, "godwit.settlements{retry}": 0, "godwit.circuit.openings": 0,
			"messaging.client.sent.messages{send}":        3,
			"messaging.client.consumed.messages{receive}": 3,
			"messaging.process.duration{process}":         2,
			"messaging.process.duration{_OTHER,process}":  2,
			"messaging.client.operation.duration{send}":   3,
			"godwit.delivery.delay":                       2, // of four in two moments
			"godwit.handlers.started":                     4,
			"godwit.retries":                              1,
			"godwit.dead_letters{exhausted}":              1,
			"godwit.settlements{done}":                    2,
			"godwit.settlements{reject}":                  1,
			"godwit.requests{send}":                       3,
			"godwit.requests.billed{send}":                3,
			"godwit.leases.renewed":                       3,
			"godwit.requests{renew}":                      3,
		} {
			if got, there := all[name]; got != want || !there {
				t.Errorf("%s is %v (%v), want %v", name, got, there, want)
			}
		}
		if t.Failed() {
			t.Logf("%v", all)
		}
		for name := range all { // a consumer that has ended has no gauges any more
			if strings.HasPrefix(name, "godwit.deliveries.") || strings.HasPrefix(name, "godwit.workers.") {
				t.Errorf("after the end, there is %s", name)
			}
		}
	})
}

// Errors of the service are counted by their class, and the circuit and the breaker by their openings.
func TestMetricsOfFailures(t *testing.T) {
	inWorld(t, telemetry.Options{}, func(w *world) {
		p := w.producer("orders", &godwit.ProducerOptions{RetryFor: 30 * time.Second})
		c := w.consumer("orders", &godwit.ConsumerOptions{BreakAfter: 2, Concurrency: 1})
		for range 5 {
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		remove := w.server.Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "InternalError", Fault: true}}
		})
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err == nil {
			t.Error("a send to a service that fails has succeeded")
		}
		all := w.metrics()
		if all["godwit.circuit.open"] != 1 || all["godwit.circuit.openings"] != 1 || all["godwit.send.retries"] < 5 ||
			all["messaging.client.operation.duration{transient,send}"] < 5 {
			t.Errorf("while the service fails: %v", all)
		}
		remove()
		w.handle(c, 2*time.Minute, func(context.Context, *godwit.Delivery) error { return errors.New("down") })
		if all = w.metrics(); all["godwit.breaker.openings"] != 1 || all["godwit.releases"] == 0 {
			t.Errorf("while handlers fail: %v", all)
		}
	})
}

// SNS's JSON of a topic that the channel does not trust is counted.
func TestUnopenedEnvelopesAreCounted(t *testing.T) {
	inWorld(t, telemetry.Options{}, func(w *world) {
		c := w.consumer("orders", nil)
		if n, there := w.metrics()["godwit.envelopes.unopened"]; n != 0 || !there {
			t.Errorf("before, %v messages were counted (%v)", n, there)
		}
		for range 2 {
			w.foreign("orders", sqs.SendMessageInput{MessageBody: aws.String(`{"Type":"Notification","MessageId":"1",` +
				`"TopicArn":"arn:aws:sns:us-east-1:000000000000:news","Message":"x"}`)})
		}
		w.handle(c, time.Minute, func(context.Context, *godwit.Delivery) error { return nil })
		if n := w.metrics()["godwit.envelopes.unopened"]; n != 2 {
			t.Errorf("%v messages were counted", n)
		}
	})
}

// Messages that have expired are counted, and no handler starts for them.
func TestExpiredMessagesAreCounted(t *testing.T) {
	inWorld(t, telemetry.Options{}, func(w *world) {
		c := w.consumer("orders", nil)
		if n, there := w.metrics()["godwit.expired"]; n != 0 || !there {
			t.Errorf("before, %v messages were counted (%v)", n, there)
		}
		p := w.producer("orders", nil)
		for range 2 {
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x"), Expires: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.handle(c, time.Minute, func(context.Context, *godwit.Delivery) error { return nil })
		if all := w.metrics(); all["godwit.expired"] != 2 || all["godwit.handlers.started"] != 0 {
			t.Errorf("%v", all)
		}
	})
}

// The labels are bounded: a flood of tenants, keys, types and headers makes no series.
func TestAFloodOfTenantsMakesNoSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // without spans, and without a service, since the number is large
		const tenants = 100_000
		w := observed(t, inMemory(t), telemetry.Options{Tracers: untraced.NewTracerProvider()})
		p := w.producer("orders", nil)
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 64, MaxPerTenant: 5, SettleLinger: time.Second})
		ms := make([]godwit.Message, 1000)
		series := 0
		for sent := 0; sent < tenants; sent += len(ms) {
			for i := range ms {
				ms[i] = godwit.Message{
					OrderKey: fmt.Sprint("tenant ", sent+i), Type: fmt.Sprint("type ", sent+i),
					RoutingKey: fmt.Sprint("k", sent+i),
				}
			}
			if err := p.SendBatch(w.Context(), ms); err != nil {
				t.Fatal(err)
			}
			if sent == 0 {
				w.metrics()
				series = w.series
			}
		}
		ctx, stop := context.WithCancel(w.Context())
		var handled atomic.Int64
		if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
			if handled.Add(1) == tenants {
				w.metrics()
				stop()
			}
			if d.Attempt == 1 && strings.HasSuffix(d.OrderKey, "777") {
				return fmt.Errorf("no %s", d.OrderKey)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if w.series > series+15 || w.series < series { // the others are of what only a consumer with traffic counts
			t.Errorf("%d series, and %d after the first send", w.series, series)
		}
		t.Logf("%d series after %d tenants", w.series, tenants)
	})
}

// Handler serves what Prometheus reads.
func TestHandler(t *testing.T) {
	tel, err := telemetry.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, telemetry.Options{}, func(w *world) {
		p, err := godwit.NewProducer(w.Context(), w.backend, "orders", tel.Producer(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Error(err)
		}
		if err := p.Close(w.Context()); err != nil {
			t.Error(err)
		}
		page := httptest.NewRecorder()
		tel.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		for _, line := range []string{
			`godwit_requests_total{godwit_channel="orders",godwit_operation="send"} 1`,
			`messaging_client_sent_messages_total{godwit_channel="orders",messaging_destination_name="orders",`,
			`messaging_client_operation_duration_seconds_bucket{`,
		} {
			if !strings.Contains(page.Body.String(), line) {
				t.Errorf("no %s in:\n%s", line, page.Body)
			}
		}
		elsewhere := httptest.NewRecorder()
		w.t.Handler().ServeHTTP(elsewhere, httptest.NewRequest("GET", "/metrics", nil))
		if elsewhere.Code != 404 || !strings.Contains(elsewhere.Body.String(), "Meters") {
			t.Errorf("with other meters: %d %s", elsewhere.Code, elsewhere.Body)
		}
	})
}

// The table of docs/telemetry.md has every instrument, with its type, unit and meaning.
func TestTheTableOfMetrics(t *testing.T) {
	meters := &listing{}
	if _, err := telemetry.New(&telemetry.Options{Meters: meters}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:messaging|godwit)\\..*)$").FindAllString(string(page), -1) {
		cells := strings.Split(row, " | ")
		rows = append(rows, strings.Join([]string{
			strings.Trim(cells[0], "| `"), cells[1], strings.Trim(cells[2], "`"), strings.TrimSuffix(cells[4], " |"),
		}, " | "))
	}
	slices.Sort(rows)
	slices.Sort(meters.found)
	if diff := cmp.Diff(meters.found, rows); diff != "" {
		t.Errorf("the table (-registered +documented):\n%s", diff)
	}
}

// listing is a provider that lists instruments.
type listing struct {
	noop.MeterProvider
	listed
}

func (l *listing) Meter(string, ...metric.MeterOption) metric.Meter { return &l.listed }

// listed is a meter that lists instruments.
type listed struct {
	noop.Meter
	found []string
}

func (l *listed) add(name, kind, unit, what string) {
	l.found = append(l.found, strings.Join([]string{name, kind, unit, what}, " | "))
}

func (l *listed) Int64Counter(name string, os ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	o := metric.NewInt64CounterConfig(os...)
	l.add(name, "counter", o.Unit(), o.Description())
	return noop.Int64Counter{}, nil
}

func (l *listed) Int64ObservableCounter(
	name string, os ...metric.Int64ObservableCounterOption,
) (metric.Int64ObservableCounter, error) {
	o := metric.NewInt64ObservableCounterConfig(os...)
	l.add(name, "counter", o.Unit(), o.Description())
	return noop.Int64ObservableCounter{}, nil
}

func (l *listed) Int64Histogram(name string, os ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	o := metric.NewInt64HistogramConfig(os...)
	l.add(name, "histogram", o.Unit(), o.Description())
	return noop.Int64Histogram{}, nil
}

func (l *listed) Float64Histogram(name string, os ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	o := metric.NewFloat64HistogramConfig(os...)
	l.add(name, "histogram", o.Unit(), o.Description())
	return noop.Float64Histogram{}, nil
}

func (l *listed) Int64ObservableGauge(
	name string, os ...metric.Int64ObservableGaugeOption,
) (metric.Int64ObservableGauge, error) {
	o := metric.NewInt64ObservableGaugeConfig(os...)
	l.add(name, "gauge", o.Unit(), o.Description())
	return noop.Int64ObservableGauge{}, nil
}

func (l *listed) Float64ObservableGauge(
	name string, os ...metric.Float64ObservableGaugeOption,
) (metric.Float64ObservableGauge, error) {
	o := metric.NewFloat64ObservableGaugeConfig(os...)
	l.add(name, "gauge", o.Unit(), o.Description())
	return noop.Float64ObservableGauge{}, nil
}
