package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/telemetry"
)

// batches runs a consumer with a batch handler for a minute.
func (w *world) batches(o *godwit.ConsumerOptions, b *godwit.BatchOptions, h godwit.BatchHandler) {
	w.Helper()
	o, b = w.t.ConsumerOfBatches(w.logged(o), b)
	c, err := godwit.NewConsumer(w.Context(), w.backend, "orders", o)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	if _, err := c.RunBatches(ctx, h, b); err != nil {
		w.Error(err)
	}
}

// named returns the spans with a name and kind.
func (w *world) named(name, kind string) (found []tracetest.SpanStub) {
	for _, s := range w.spans.GetSpans() {
		if s.Name == name && s.SpanKind.String() == kind {
			found = append(found, s)
		}
	}
	return found
}

// linked returns the span ids of links.
func linked(s *tracetest.SpanStub) (ids []string) {
	for _, l := range s.Links {
		ids = append(ids, l.SpanContext.SpanID().String())
	}
	slices.Sort(ids)
	return ids
}

// label returns an attribute of a span; "": it has none.
func label(s *tracetest.SpanStub, key string) string {
	for _, kv := range s.Attributes {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// A batch has a span with a link to each of its messages, whether or not traces are continued; so have the requests.
func TestTheSpansOfBatches(t *testing.T) {
	for _, parent := range []bool{false, true} {
		inWorld(t, telemetry.Options{Parent: parent}, func(w *world) {
			ms := make([]godwit.Message, 7)
			for i := range ms {
				ms[i].Body = []byte("x")
			}
			if err := w.producer("orders", nil).SendBatch(w.Context(), ms); err != nil {
				t.Fatal(err)
			}
			o := &godwit.ConsumerOptions{MaxAttempts: 1, Concurrency: 1}
			w.batches(o, &godwit.BatchOptions{Size: 7, Window: time.Second},
				func(context.Context, []*godwit.Delivery) error { return errors.New("no such user") })

			var sent []string
			for _, s := range w.named("send orders", "producer") {
				sent = append(sent, s.SpanContext.SpanID().String())
			}
			slices.Sort(sent)
			if len(sent) != 7 {
				t.Fatalf("%d messages have a span", len(sent))
			}
			handled := w.named("process orders", "consumer")
			if len(handled) != 1 || handled[0].Parent.IsValid() || label(&handled[0], "error.type") != "_OTHER" {
				t.Fatalf("the batch: %+v", handled)
			}
			for _, spans := range [][]tracetest.SpanStub{
				w.named("send orders", "client"), w.named("receive orders", "client"), handled,
			} {
				if len(spans) != 1 || !slices.Equal(linked(&spans[0]), sent) ||
					label(&spans[0], "messaging.batch.message_count") != "7" {
					t.Errorf("of %q: %+v", sent, spans)
				}
			}
			var settled []string
			for _, s := range w.named("settle orders", "client") { // one or several, as the settler decides
				if settled = append(settled, linked(&s)...); len(s.Links) > 1 &&
					label(&s, "messaging.batch.message_count") != strconv.Itoa(len(s.Links)) {
					t.Errorf("%+v", s)
				}
			}
			slices.Sort(settled)
			if !slices.Equal(settled, sent) {
				t.Errorf("settlements of %q, want %q", settled, sent)
			}
		})
	}
}

// A batch of one message is like a message: it has no count, and its trace can be continued.
func TestTheSpanOfABatchOfOne(t *testing.T) {
	inWorld(t, telemetry.Options{Parent: true}, func(w *world) {
		if err := w.producer("orders", nil).SendBatch(w.Context(), []godwit.Message{{Body: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
		w.batches(nil, nil, func(context.Context, []*godwit.Delivery) error { panic("no such index") })
		sent, handled := w.named("send orders", "producer"), w.named("process orders", "consumer")
		if len(sent) != 1 || len(handled) != 3 || len(w.named("send orders", "client")) != 0 {
			t.Fatalf("%s", w.tree())
		}
		for _, s := range handled {
			if s.Parent.SpanID() != sent[0].SpanContext.SpanID() || label(&s, "messaging.batch.message_count") != "" ||
				label(&s, "error.type") != "panic" {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A hook of the user that panics beside ours does not concern the messages or the counts; five panics within a minute
// end the consumer with the error.
func TestHooksThatPanic(t *testing.T) {
	for panics, want := range map[int]string{4: "", 5: "5 internal panics within 1m0s"} {
		inWorld(t, telemetry.Options{}, func(w *world) {
			p := w.producer("orders", &godwit.ProducerOptions{
				Hooks: godwit.ProducerHooks{Sent: func(godwit.Sending) { panic("no such index") }},
			})
			left := panics
			c := w.consumer("orders", &godwit.ConsumerOptions{
				Concurrency: 1,
				Hooks: godwit.Hooks{Polled: func(p godwit.Poll) {
					if left--; left >= 0 {
						panic("no such index")
					}
				}},
			})
			ctx, cancel := context.WithTimeout(w.Context(), 10*time.Minute)
			defer cancel()
			ended := make(chan error)
			handled := 0
			go func() {
				_, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
					handled++
					return nil
				})
				ended <- err
			}()
			for range 5 {
				if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
			}
			if len(p.Health().Unhealthy) == 0 {
				t.Error("the producer's health does not tell of its hook")
			}
			err := <-ended
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("after %d panics: %v", panics, err)
			}
			all := w.metrics()
			if n := all["messaging.client.consumed.messages{receive}"]; n != 5 || handled < 4 {
				t.Errorf("%v messages were counted, and %d were handled", n, handled)
			}
			if n := all["messaging.client.sent.messages{send}"]; n != 5 {
				t.Errorf("%v sent messages were counted", n)
			}
		})
	}
}
