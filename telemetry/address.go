package telemetry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// channelKey is the label that all metrics of this package have: the channel as users write it. Spans have it in their
// names.
const channelKey = attribute.Key("godwit.channel")

// ours is messaging.system if the backend does not say how OpenTelemetry calls its service.
const ours = "godwit"

// address is the attributes of a channel, with space for others: append does not share memory.
func address(channel string, a driver.Address) []attribute.KeyValue {
	kvs := []attribute.KeyValue{
		semconv.MessagingSystemKey.String(cmp.Or(a.System, ours)),
		semconv.MessagingDestinationName(cmp.Or(a.Destination, channel)),
	}
	if a.Group != "" {
		kvs = append(kvs, semconv.MessagingConsumerGroupName(a.Group))
	}
	return slices.Clip(kvs)
}

// errorType is the class of an error, of a bounded set, for error.type. nil has none.
func errorType(ctx context.Context, err error) string {
	var panicked *godwit.PanicError
	switch {
	case errors.Is(context.Cause(ctx), godwit.ErrProcessingTimeout):
		return "timeout"
	case errors.Is(context.Cause(ctx), godwit.ErrLeaseLost):
		return "lease_lost"
	case errors.Is(context.Cause(ctx), godwit.ErrShutdown):
		return "shutdown"
	case errors.As(err, &panicked), errors.Is(err, errUnreturned):
		return "panic"
	case errors.Is(err, godwit.ErrCircuitOpen):
		return "circuit_open"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline_exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	var e *driver.Error
	if errors.As(err, &e) {
		return strings.ReplaceAll(e.Class.String(), " ", "_")
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
