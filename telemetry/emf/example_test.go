package emf_test

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/godwitmq/godwit/telemetry"
	"github.com/godwitmq/godwit/telemetry/emf"
)

// The metrics of a function of Lambda are lines of its log.
func Example() {
	exporter, err := emf.New(os.Stdout, &emf.Options{Dimensions: map[string]string{"service": "mailer"}})
	if err != nil {
		log.Fatal(err)
	}
	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	t, err := telemetry.New(&telemetry.Options{Meters: provider})
	if err != nil {
		log.Fatal(err)
	}
	_ = t.Consumer(nil) // the options of a consumer whose metrics are counted
	// Output:
}
