package newrelic_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newrelic/go-agent/v3/newrelic"

	"github.com/godwitmq/godwit"
	example "github.com/godwitmq/godwit/examples/observe/newrelic"
	"github.com/godwitmq/godwit/local"
)

// collector answers the agent as New Relic does, and keeps what it gets, by method.
type collector struct {
	mu  sync.Mutex
	got map[string]string
}

// RoundTrip implements http.RoundTripper.
func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(unpacked); err != nil {
			return nil, err
		}
	}
	method := r.URL.Query().Get("method")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[method] += string(body)
	answer := map[string]string{
		"preconnect": `{"redirect_host": "collector.internal"}`,
		"connect": `{"agent_run_id": "1", "account_id": "1", "trusted_account_key": "1", "primary_application_id": "1",
			"collect_analytics_events": true, "collect_errors": true, "collect_error_events": true,
			"collect_span_events": true, "sampling_target": 10, "sampling_target_period_in_seconds": 60}`,
	}[method]
	if answer == "" {
		answer = "null"
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"return_value": ` + answer + `}`)),
	}, nil
}

// The agent gets a transaction for each attempt, with its error, and both are of the trace in which the message was
// sent.
func TestTransactions(t *testing.T) {
	to := &collector{got: map[string]string{}}
	app, err := newrelic.NewApplication(newrelic.ConfigAppName("shop"),
		newrelic.ConfigLicense(strings.Repeat("x", 40)), newrelic.ConfigDistributedTracerEnabled(true),
		func(c *newrelic.Config) { c.Transport = to })
	if err != nil {
		t.Fatal(err)
	}
	if err := app.WaitForConnection(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	backend, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backend.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), backend, "orders", &godwit.ProducerOptions{
		Middleware: []godwit.SendMiddleware{example.Traced},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := godwit.NewConsumer(t.Context(), backend, "orders", &godwit.ConsumerOptions{
		Middleware: []godwit.Middleware{example.Transactions(app)}, Logger: slog.New(slog.DiscardHandler),
		Backoff: godwit.Constant(time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}

	txn := app.StartTransaction("checkout")
	trace := txn.GetTraceMetadata().TraceID
	if err := p.Send(newrelic.NewContext(t.Context(), txn), godwit.Message{Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	txn.End()
	ctx, stop := context.WithCancel(t.Context())
	if _, err := c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		if d.Attempt == 1 {
			return errors.New("no such user")
		}
		defer stop()
		if own := newrelic.FromContext(ctx); own == nil || own.GetTraceMetadata().TraceID != trace {
			t.Errorf("the handler's transaction is not of the trace %s", trace)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	app.Shutdown(10 * time.Second)

	to.mu.Lock()
	defer to.mu.Unlock()
	for method, parts := range map[string]map[string]int{
		"analytic_event_data": {"OtherTransaction/Go/process orders": 2, fmt.Sprintf("%q", trace): 3},
		"error_event_data": {
			"OtherTransaction/Go/process orders": 1, "no such user": 1, fmt.Sprintf("%q", trace): 1,
		},
	} {
		for part, want := range parts {
			if n := strings.Count(to.got[method], part); n != want {
				t.Errorf("%s has %s %d times, want %d:\n%s", method, part, n, want, to.got[method])
			}
		}
	}
}
