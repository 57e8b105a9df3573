package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	godwitsqs "github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/telemetry"
)

// handles collects the receipt handles of a server's clients.
type handles struct {
	mu  sync.Mutex
	all []string
}

func (h *handles) watch(_ context.Context, r *localaws.Request) (none localaws.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch in := r.Input.(type) {
	case *godwitsqs.DeleteMessageBatchInput:
		for _, e := range in.Entries {
			h.all = append(h.all, e.ReceiptHandle)
		}
	case *godwitsqs.ChangeMessageVisibilityBatchInput:
		for _, e := range in.Entries {
			h.all = append(h.all, e.ReceiptHandle)
		}
	}
	return none
}

// Whatever happens to messages, no line, span or label has anything of a body, an attribute, a key or a handle.
func TestNothingSecretIsTold(t *testing.T) {
	const secret = "hunter2"
	inWorld(t, telemetry.Options{}, func(w *world) {
		var seen handles
		for _, action := range []string{"sqs.DeleteMessageBatch", "sqs.ChangeMessageVisibilityBatch"} {
			w.server.Control(action, seen.watch)
		}
		c := w.consumer("events.orders", &godwit.ConsumerOptions{
			MaxAttempts: 2, Backoff: godwit.Constant(time.Second), ProcessingTimeout: 20 * time.Second, Concurrency: 10,
			Filter: godwit.Filter{Prefix: []string{"a."}},
		})
		p := w.producer("events.*", nil)
		send := func(key, does string) {
			if err := p.Send(w.Context(), godwit.Message{
				Body: []byte(does + " " + secret), RoutingKey: key + secret, OrderKey: secret, Type: secret,
				Headers: godwit.Headers{
					{Name: "password", Value: secret},
					{Name: "does", Value: does},
					{Name: "traceparent", Value: "00-" + secret},
				},
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, does := range []string{"succeeds", "fails", "panics", "hangs", "ignores"} {
			send("a.", does)
		}
		for _, odd := range []map[string]types.MessageAttributeValue{
			{"routing_key": text("a." + secret), "godwit": text(`{"v":1,"h":"` + secret)}, // is no envelope
			{"routing_key": text("b." + secret), "password": text(secret)},                // is filtered
			{
				"routing_key": text("a." + secret), "password": text(secret),
				"traceparent": text("ff-" + secret), "tracestate": text(secret),
			},
		} {
			w.foreign("events--orders", sqs.SendMessageInput{
				MessageBody: aws.String(secret), MessageAttributes: odd,
				MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
					"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=" + secret)},
				},
			})
		}
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "ReceiptHandleIsInvalid", Status: 404, Message: "gone"}}
		})
		free := make(chan struct{})
		go func() {
			time.Sleep(2 * time.Minute)
			close(free)
		}()
		w.handle(c, 5*time.Minute, func(ctx context.Context, d *godwit.Delivery) error {
			switch does := d.Headers.Value("does"); does {
			case "fails":
				return errors.New("no such user")
			case "panics":
				panic("no such index")
			case "hangs":
				<-ctx.Done()
				return ctx.Err()
			case "ignores":
				<-free
			}
			return nil
		})
		w.handle(w.consumer("events.orders@dlq", nil), time.Minute,
			func(context.Context, *godwit.Delivery) error { return nil })

		var labels strings.Builder
		for name := range w.metrics() {
			fmt.Fprintln(&labels, name)
		}
		for _, hidden := range append(seen.all, secret) {
			if found := w.log.with(hidden); len(found) > 0 {
				t.Errorf("the log has %q:\n%s", hidden, strings.Join(found, ""))
			}
			if strings.Contains(labels.String(), hidden) {
				t.Errorf("a metric has %q:\n%s", hidden, labels.String())
			}
			for _, s := range w.spans.GetSpans() {
				if strings.Contains(fmt.Sprintf("%+v", s), hidden) {
					t.Errorf("a span has %q: %+v", hidden, s)
				}
			}
		}
		if len(seen.all) < 5 {
			t.Errorf("%d handles were seen", len(seen.all))
		}
		for _, line := range []string{ // otherwise nothing was tested
			"will be retried", "is rejected", "panicked", "exceeded the processing timeout", "its worker is replaced",
			"filter does not select",
		} {
			if len(w.log.with(line)) == 0 {
				t.Errorf("no line has %q", line)
			}
		}
		if t.Failed() {
			t.Log(strings.Join(w.log.with(), ""))
		}
	})
}

// A line about a delivery has the ids of the span that has sent it, and a line of a handler those of the handler's.
func TestLinesHaveTheirTrace(t *testing.T) {
	inWorld(t, telemetry.Options{Parent: true}, func(w *world) {
		logger := slog.New(w.t.LogHandler(slog.NewTextHandler(&w.log, nil)))
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		if err := w.producer("orders", nil).Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		w.handle(c, time.Minute, func(ctx context.Context, _ *godwit.Delivery) error {
			logger.InfoContext(ctx, "looking for the user")
			return errors.New("no such user")
		})
		for _, s := range w.spans.GetSpans() {
			want := map[string]string{"send orders": "is rejected", "process orders": "looking for the user"}[s.Name]
			if want == "" {
				continue
			}
			at := s.SpanContext
			if len(w.log.with(want, "trace_id="+at.TraceID().String(), "span_id="+at.SpanID().String())) != 1 {
				t.Errorf("no line %q of %s:\n%s", want, s.Name, strings.Join(w.log.with(), ""))
			}
		}
	})
}

// A warning that repeats is written once a minute, with the number of times that it was left out. Lines with another
// message, error or channel, and lines of a lower level, are not affected.
func TestRepeatedErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tel, err := telemetry.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		var log lines
		root := slog.New(tel.LogHandler(slog.NewTextHandler(&log, nil)))
		orders, audit := root.With("channel", "orders"), root.With("channel", "audit")
		for range 90 { // a minute and a half
			orders.Error("a request failed", "error", errors.New("connection refused"), "after", time.Second)
			audit.Error("a request failed", "error", errors.New("connection refused"))
			orders.Info("a request was answered")
			time.Sleep(time.Second)
		}
		orders.Error("a request failed", "error", errors.New("access denied"))
		for _, c := range []struct {
			parts []string
			want  int
		}{
			{[]string{"channel=orders", "connection refused"}, 2},
			{[]string{"channel=orders", "connection refused", "repeated=59"}, 1},
			{[]string{"channel=audit", "connection refused"}, 2},
			{[]string{"access denied"}, 1},
			{[]string{"was answered"}, 90},
		} {
			if found := log.with(c.parts...); len(found) != c.want {
				t.Errorf("%d lines have %q, want %d:\n%s", len(found), c.parts, c.want, strings.Join(found, ""))
			}
		}

		// A flood of different errors is bounded in memory, and is written.
		for i := range 5000 {
			root.Error("a request failed", "error", fmt.Errorf("no %d", i))
		}
		if n := len(log.with("error=\"no ")); n != 5000 {
			t.Errorf("%d of 5,000 different errors were written", n)
		}
		time.Sleep(2 * time.Minute)
		for range 5 {
			root.Error("a request failed", "error", errors.New("after the flood"))
		}
		if n := len(log.with("after the flood")); n != 1 {
			t.Errorf("after a flood, an error that repeats was written %d times", n)
		}
	})
}
