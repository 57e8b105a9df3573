// Package otlp is an example: it sends the traces and metrics of producers and consumers by OTLP over HTTP, to a
// collector of OpenTelemetry or to any service that accepts OTLP.
package otlp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/godwitmq/godwit/telemetry"
)

// Options of Start. The zero value sends to localhost:4318.
type Options struct {
	// Service is the name of the program in traces. Set it, unless the environment has OTEL_SERVICE_NAME.
	Service string
	// URL is the collector's address; "": as the environment says, such as OTEL_EXPORTER_OTLP_ENDPOINT. Set it when the
	// address comes from elsewhere.
	URL string
	// Client sends the requests; nil: one of OpenTelemetry's own. Set it for certificates or a proxy of your own.
	Client *http.Client
	// Every is how often metrics are sent; 0: once a minute. Lower it when alerts must be faster.
	Every time.Duration
	// Logger gets the errors of the exporters; nil: slog.Default. Set it when your program logs elsewhere.
	Logger *slog.Logger
}

// Start returns a Telemetry whose traces and metrics are sent in the background, and the function that sends the rest
// and stops.
func Start(ctx context.Context, o Options) (*telemetry.Telemetry, func(context.Context) error, error) {
	var toTraces []otlptracehttp.Option
	var toMetrics []otlpmetrichttp.Option
	if o.URL != "" {
		toTraces = append(toTraces, otlptracehttp.WithEndpointURL(o.URL+"/v1/traces"))
		toMetrics = append(toMetrics, otlpmetrichttp.WithEndpointURL(o.URL+"/v1/metrics"))
	}
	if o.Client != nil {
		toTraces = append(toTraces, otlptracehttp.WithHTTPClient(o.Client))
		toMetrics = append(toMetrics, otlpmetrichttp.WithHTTPClient(o.Client))
	}
	spans, err := otlptracehttp.New(ctx, toTraces...)
	if err != nil {
		return nil, nil, err
	}
	numbers, err := otlpmetrichttp.New(ctx, toMetrics...)
	if err != nil {
		return nil, nil, err
	}
	of := resource.Default()
	if o.Service != "" {
		of = resource.NewSchemaless(semconv.ServiceName(o.Service))
	}
	var reading []metric.PeriodicReaderOption
	if o.Every > 0 {
		reading = append(reading, metric.WithInterval(o.Every))
	}
	// The batch processor is what keeps messages from waiting for the collector.
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans), trace.WithResource(of))
	meters := metric.NewMeterProvider(
		metric.WithReader(metric.NewPeriodicReader(numbers, reading...)), metric.WithResource(of))
	t, err := telemetry.New(&telemetry.Options{Tracers: tracers, Meters: meters, Parent: true, Logger: o.Logger})
	if err != nil {
		return nil, nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.ExportFailed))
	stop := func(ctx context.Context) error { return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx)) }
	return t, stop, nil
}
