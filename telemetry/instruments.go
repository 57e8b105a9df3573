package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
)

// Buckets of histograms. The first are the conventions' buckets for durations.
var (
	durations = metric.WithExplicitBucketBoundaries(
		0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
	delays = metric.WithExplicitBucketBoundaries(
		0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400)
	batches = metric.WithExplicitBucketBoundaries(1, 2, 3, 5, 8, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
)

// maker makes instruments, and keeps the errors.
type maker struct {
	metric.Meter
	errs []error
}

func (m *maker) failed(name string, err error) {
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("telemetry: instrument %s: %w", name, err))
	}
}

func (m *maker) err() error { return errors.Join(m.errs...) }

func (m *maker) counter(name, unit, what string) metric.Int64Counter {
	i, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	m.failed(name, err)
	return i
}

func (m *maker) tally(name, unit, what string) *tally {
	i, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	m.failed(name, err)
	return &tally{Int64ObservableCounter: i}
}

func (m *maker) sizes(name, unit, what string) metric.Int64Histogram {
	i, err := m.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(what), batches)
	m.failed(name, err)
	return i
}

func (m *maker) times(name, what string, buckets metric.HistogramOption) metric.Float64Histogram {
	i, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), buckets)
	m.failed(name, err)
	return i
}

func (m *maker) gauge(name, unit, what string) metric.Int64ObservableGauge {
	i, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
	m.failed(name, err)
	return i
}

func (m *maker) seconds(name, what string) metric.Float64ObservableGauge {
	i, err := m.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(what))
	m.failed(name, err)
	return i
}

// meters are the instruments that are told what happens. docs/telemetry.md has a table of them.
type meters struct {
	operation metric.Float64Histogram
	process   metric.Float64Histogram
	sentBy    *tally
	consumed  *tally
	started   *tally
	late      *tally
	settled   *tally
	requests  *tally
	billed    *tally

	delay       metric.Float64Histogram
	settleBatch metric.Int64Histogram
	sendBatch   metric.Int64Histogram
	unsettled   metric.Int64Counter
	retries     metric.Int64Counter
	dead        metric.Int64Counter
	released    metric.Int64Counter
	discarded   metric.Int64Counter
	unopened    metric.Int64Counter
	expired     metric.Int64Counter
	timedOut    metric.Int64Counter
	abandoned   metric.Int64Counter
	renewed     metric.Int64Counter
	lost        metric.Int64Counter
	breaker     metric.Int64Counter
	circuit     metric.Int64Counter
	sentAgain   metric.Int64Counter
	provisioned metric.Int64Counter
	bodies      metric.Int64Counter
	bodyBytes   metric.Int64Counter
	untraced    metric.Int64Counter
	malformed   metric.Int64Counter
	exports     metric.Int64Counter
}

func newMeters(meter metric.Meter) (*meters, error) {
	mk := &maker{Meter: meter}
	operation, err := messagingconv.NewClientOperationDuration(meter, durations)
	mk.failed(operation.Name(), err)
	sent, err := messagingconv.NewClientSentMessagesObservable(meter)
	mk.failed(sent.Name(), err)
	consumed, err := messagingconv.NewClientConsumedMessagesObservable(meter)
	mk.failed(consumed.Name(), err)
	process, err := messagingconv.NewProcessDuration(meter, durations)
	mk.failed(process.Name(), err)
	ms := &meters{
		operation: operation.Inst(), process: process.Inst(),
		sentBy:   &tally{Int64ObservableCounter: sent.Inst()},
		consumed: &tally{Int64ObservableCounter: consumed.Inst()},
		started:  mk.tally("godwit.handlers.started", "{message}", "Deliveries whose handler has started."),
		late: mk.tally("godwit.handlers.late", "{message}",
			"Deliveries whose handler has started later after their sending than the delay tolerance of their consumer."),

		delay: mk.times("godwit.delivery.delay",
			"Age of a message when its handler starts, with its own delay; of one message each millisecond at most.", delays),
		settleBatch: mk.sizes("godwit.settle.batch.size", "{settlement}", "Settlements of one request."),
		sendBatch:   mk.sizes("godwit.send.batch.size", "{message}", "Messages of one request."),
		settled: mk.tally("godwit.settlements", "{settlement}",
			"Settlements that the service has accepted, by action."),
		unsettled: mk.counter("godwit.settlements.refused", "{settlement}",
			"Settlements that the service has refused for good: the messages are delivered again."),
		retries: mk.counter("godwit.retries", "{retry}", "Failed attempts after which the message is retried."),
		dead: mk.counter("godwit.dead_letters", "{message}",
			"Messages that were rejected, by the kind of the reason."),
		released: mk.counter("godwit.releases", "{message}",
			"Deliveries that were returned untouched, to be received again."),
		discarded: mk.counter("godwit.discarded", "{message}",
			"Messages that were finished without a handler, by reason."),
		unopened: mk.counter("godwit.envelopes.unopened", "{message}",
			"Messages in the JSON of an SNS topic that the channel does not trust, whose handler gets that JSON."),
		expired: mk.counter("godwit.expired", "{message}", "Messages that had expired, and were discarded or rejected."),
		timedOut: mk.counter("godwit.handlers.timed_out", "{handler}",
			"Handlers that exceeded the processing timeout."),
		abandoned: mk.counter("godwit.handlers.abandoned", "{handler}",
			"Handlers that ignored the end of their context, and whose workers were replaced."),
		renewed: mk.counter("godwit.leases.renewed", "{lease}", "Leases that were renewed."),
		lost:    mk.counter("godwit.leases.lost", "{lease}", "Leases that have ended before their deliveries were settled."),
		breaker: mk.counter("godwit.breaker.openings", "{opening}",
			"How often a consumer stopped receiving because handlers failed one after another."),
		circuit: mk.counter("godwit.circuit.openings", "{opening}",
			"How often a producer stopped sending because requests failed one after another."),
		sentAgain: mk.counter("godwit.send.retries", "{message}", "Sends after the first one of a message."),
		provisioned: mk.counter("godwit.provisionings", "{provisioning}",
			"Attempts of producers to create a channel again that was found missing."),
		requests: mk.tally("godwit.requests", "{request}", "Requests to the service, by operation."),
		billed: mk.tally("godwit.requests.billed", "{request}",
			"Requests as SQS and SNS bill them: each 64 KiB of payload is one."),
		bodies: mk.counter("godwit.bodies.read", "{body}", "Bodies that were read from the store."),
		bodyBytes: mk.counter("godwit.bodies.size", "By",
			"Bytes of bodies that were read from the store, as their senders said."),
		untraced: mk.counter("godwit.traces.dropped", "{message}",
			"Messages that were sent without their trace context, which had no room."),
		malformed: mk.counter("godwit.traces.malformed", "{message}",
			"Deliveries with a trace context that could not be read."),
		exports: mk.counter("godwit.telemetry.errors", "{error}",
			"Errors of OpenTelemetry's SDK, such as failed exports, that ExportFailed was told."),
	}
	if err := mk.err(); err != nil {
		return nil, err
	}
	tallies := []*tally{ms.sentBy, ms.consumed, ms.started, ms.late, ms.settled, ms.requests, ms.billed}
	all := make([]metric.Observable, len(tallies))
	for i, t := range tallies {
		all[i] = t.Int64ObservableCounter
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, t := range tallies {
			t.observe(o)
		}
		return nil
	}, all...)
	return ms, err
}
