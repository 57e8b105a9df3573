// Package emf writes metrics in CloudWatch's embedded metric format: lines of JSON in a log, from which CloudWatch Logs
// makes metrics. On AWS Lambda, standard output is such a log; elsewhere the CloudWatch agent reads one. No request is
// made for it, and no permission is needed.
//
//	exporter, err := emf.New(os.Stdout, nil)
//	check(err)
//	provider := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(exporter)))
//	t, err := telemetry.New(&telemetry.Options{Meters: provider})
//
// On Lambda, call the provider's ForceFlush at the end of each invocation: between two of them nothing runs.
//
// A metric has the attributes of its measurement as dimensions. Counters and histograms have what was measured since
// the line before, and no line if that is nothing. A histogram has a value for each of its buckets, from which
// CloudWatch computes percentiles, and its exact minimum, maximum, sum and count.
package emf
