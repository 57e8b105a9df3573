package telemetry

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// prometheusMeters makes a provider, and the handler that serves its metrics. They have a registry of their own, so
// that two of them can be in one process.
func prometheusMeters() (metric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	e, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, nil, fmt.Errorf("telemetry: the exporter for Prometheus: %w", err)
	}
	return sdk.NewMeterProvider(sdk.WithReader(e)), promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}
