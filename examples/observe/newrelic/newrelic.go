// Package newrelic is an example: it attaches New Relic's agent to producers and consumers. Other agents for monitoring
// of applications attach in the same way: a middleware begins what they call a transaction.
package newrelic

import (
	"context"
	"net/http"

	"github.com/newrelic/go-agent/v3/newrelic"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// Transactions makes each start of a handler a transaction, which continues the trace of the message.
func Transactions(app *newrelic.Application) godwit.Middleware {
	return func(next godwit.Handler) godwit.Handler {
		return func(ctx context.Context, d *godwit.Delivery) error {
			txn := app.StartTransaction("process " + d.Channel)
			defer txn.End()
			txn.AcceptDistributedTraceHeaders(newrelic.TransportQueue, http.Header{
				"Traceparent": {d.Headers.Value("traceparent")}, "Tracestate": {d.Headers.Value("tracestate")},
			})
			err := next(newrelic.NewContext(ctx, txn), d)
			if err != nil {
				txn.NoticeError(err)
			}
			return err
		}
	}
}

// Traced adds the trace of the context's transaction to messages, so that their handlers continue it.
func Traced(next godwit.SendFunc) godwit.SendFunc {
	return func(ctx context.Context, m *godwit.Message) error {
		headers := http.Header{}
		newrelic.FromContext(ctx).InsertDistributedTraceHeaders(headers)
		for _, name := range []string{"traceparent", "tracestate"} {
			if v := headers.Get(name); v != "" {
				m.Trace = append(m.Trace, driver.Header{Name: name, Value: v})
			}
		}
		return next(ctx, m)
	}
}
