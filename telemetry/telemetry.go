package telemetry

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
)

// scope is the name of this instrumentation.
const scope = "github.com/godwitmq/godwit/telemetry"

// Options configure a Telemetry. The zero value has metrics for Prometheus, and no traces.
type Options struct {
	// Tracers makes the spans; nil: there are no traces. Set it to the provider of your program, which
	// otel.GetTracerProvider returns.
	Tracers trace.TracerProvider
	// Parent continues the trace of a message in its handler, so that producer and handlers are one trace. Set it when
	// each message is one piece of work, and leave it out when messages fan out widely or wait for days: traces then
	// become too large for their backend. Batches of several messages always have links.
	Parent bool
	// Propagator writes and reads trace contexts; nil: propagation.TraceContext, the standard of W3C. Set it when other
	// programs use another format, or for baggage, whose values every reader of the message sees.
	Propagator propagation.TextMapPropagator
	// Meters makes the instruments; nil: a provider of our own, whose metrics Handler serves to Prometheus. Set it when
	// metrics are sent elsewhere, by OTLP for example; Handler then has nothing to serve.
	Meters metric.MeterProvider
	// Logger gets the errors of exporters that ExportFailed is told; nil: slog.Default, from warnings up. Set it when
	// your program logs elsewhere. Producers and consumers have loggers of their own.
	Logger *slog.Logger
}

// Telemetry observes producers and consumers. It is safe for concurrent use, and has no goroutines.
type Telemetry struct {
	tracer  trace.Tracer // nil: there are no traces
	carrier carrier
	meters  *meters
	gauges  *gauges
	handler http.Handler
	logger  *slog.Logger
	exports *repeats
}

// New makes the instruments. An option that has no effect is an error.
func New(o *Options) (*Telemetry, error) {
	opts := *cmp.Or(o, &Options{})
	if opts.Tracers == nil && opts.Parent {
		return nil, errors.New("telemetry: Options.Parent has no effect without Tracers: set them, or leave Parent out")
	}
	t := &Telemetry{logger: loggerOr(opts.Logger), exports: newRepeats()}
	meters := opts.Meters
	if meters == nil {
		var err error
		if meters, t.handler, err = prometheusMeters(); err != nil {
			return nil, err
		}
	}
	var err error
	if t.meters, err = newMeters(meters.Meter(scope)); err != nil {
		return nil, err
	}
	labels{}.zero(t.meters.exports)
	if t.gauges, err = newGauges(meters.Meter(scope)); err != nil {
		return nil, err
	}
	t.carrier = newCarrier(opts.Propagator, opts.Parent)
	if opts.Tracers != nil {
		t.tracer = opts.Tracers.Tracer(scope)
	}
	return t, nil
}

// Producer returns the options with middleware and hooks added, for one producer. The spans are around all other
// middleware. nil: default options.
func (t *Telemetry) Producer(o *godwit.ProducerOptions) *godwit.ProducerOptions {
	out := *cmp.Or(o, &godwit.ProducerOptions{})
	s := &sending{t: t}
	out.Hooks = s.hooks().Join(out.Hooks)
	if t.tracer != nil {
		out.Middleware = append([]godwit.SendMiddleware{s.middleware}, out.Middleware...)
	}
	return &out
}

// Consumer returns the options with middleware, hooks and a logger added, for one consumer. The spans are around all
// other middleware. For a consumer with batches, use ConsumerOfBatches. nil: default options.
func (t *Telemetry) Consumer(o *godwit.ConsumerOptions) *godwit.ConsumerOptions {
	out, c := t.consumer(o)
	out.Middleware = append([]godwit.Middleware{c.middleware}, out.Middleware...)
	return out
}

// ConsumerOfBatches is Consumer for a consumer that runs with a batch handler, whose options it changes, too. They have
// middleware of their own.
func (t *Telemetry) ConsumerOfBatches(
	o *godwit.ConsumerOptions, b *godwit.BatchOptions,
) (*godwit.ConsumerOptions, *godwit.BatchOptions) {
	batches := *cmp.Or(b, &godwit.BatchOptions{})
	out, c := t.consumer(o)
	batches.Middleware = slices.Insert(slices.Clone(batches.Middleware), 0, c.batchMiddleware)
	return out, &batches
}

func (t *Telemetry) consumer(o *godwit.ConsumerOptions) (*godwit.ConsumerOptions, *consuming) {
	out := *cmp.Or(o, &godwit.ConsumerOptions{})
	c := &consuming{t: t}
	out.Hooks = c.hooks().Join(out.Hooks)
	out.Logger = slog.New(t.LogHandler(loggerOr(out.Logger).Handler()))
	return &out, c
}

// loggerOr returns the logger to write to: for nil the default one, from warnings up.
func loggerOr(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(atLeast{slog.Default().Handler(), slog.LevelWarn})
	}
	return l
}

// Handler serves the metrics to Prometheus, as /metrics. With Options.Meters it answers that they are elsewhere.
func (t *Telemetry) Handler() http.Handler {
	if t.handler != nil {
		return t.handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the metrics go to telemetry.Options.Meters: leave it out to serve them here", http.StatusNotFound)
	})
}
