// Package observe has examples of telemetry with other libraries, in a module of its own, so that programs that use
// Godwit do not depend on them: package otlp sends traces and metrics to a collector of OpenTelemetry, and package
// newrelic attaches New Relic's agent.
package observe
