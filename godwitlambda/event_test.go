package godwitlambda_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// An event of another queue than the channel's is an error that says what to do, and no handler starts.
func TestMalformedEvents(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.make(orders, 3*time.Minute)
	w.send("orders", false, "a kite")
	h := w.handler("orders", func(context.Context, *godwit.Delivery) error {
		t.Error("a handler has started")
		return nil
	}, godwit.ConsumerOptions{})
	good := string(eventOf("orders", w.receive("orders", 1)))
	for want, event := range map[string]string{
		"is no event of SQS":                    `[1, 2`,
		"Records: this function handles events": `{"run": "sources"}`,
		"comes from \"aws:sns\"":                strings.ReplaceAll(good, "aws:sqs\"", "aws:sns\""),
		"has no messageId or":                   strings.ReplaceAll(good, `"messageId"`, `"id"`),
		"has no eventSourceARN":                 strings.ReplaceAll(good, `"eventSourceARN"`, `"source"`),
		"channel orders has queue arn:aws:sqs:": strings.ReplaceAll(good, arnOf+"orders", arnOf+"others"),
		"Records[1] is of queue": strings.ReplaceAll(good, `]}`,
			`,{"messageId":"2","receiptHandle":"2","eventSource":"aws:sqs","eventSourceARN":"`+arnOf+`others"}]}`),
		"cannot unmarshal": `{"Records": [{"body": 7}]}`,
	} {
		if answer, err := h.Invoke(t.Context(), []byte(event)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %q", event, answer, err, want)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := h.Invoke(short, []byte(good)); err == nil || !strings.Contains(err.Error(), "raise the function's") {
		t.Errorf("two seconds: %v", err)
	}
	nothing := func(context.Context, *godwit.Delivery) error { return nil }
	none := w.handler("others", nothing, godwit.ConsumerOptions{})
	if _, err := none.Invoke(t.Context(), []byte(good)); err == nil || !strings.Contains(err.Error(), "others") {
		t.Errorf("a channel without a queue: %v", err)
	}
	w.Server().Control("sqs.GetQueueUrl", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
	})
	denied := w.handler("orders", nothing, godwit.ConsumerOptions{})
	if _, err := denied.Invoke(t.Context(), []byte(strings.ReplaceAll(good, arnOf+"orders", arnOf+"x"))); err == nil {
		t.Error("another queue, and no permission")
	}
}

// A message that was altered on its way, and one whose queue has not answered in time, are in the answer.
func TestAnAlteredMessage(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, func(w *world) {
			channel, queue, left := orders, "orders", "2"
			if fifo {
				channel, queue, left = ordered, "orders.fifo", "1 2 3"
			}
			w.make(channel, 3*time.Minute)
			w.send("orders", fifo, "a=1", "a=2", "a=3")
			ms := w.receive(queue, 3)
			event := eventOf(queue, ms)
			var e struct{ Records []record }
			if err := json.Unmarshal(event, &e); err != nil {
				t.Fatal(err)
			}
			altered := 0
			for i := range e.Records {
				if !fifo && e.Records[i].Body == "2" || fifo && e.Records[i].Body == "1" {
					altered, e.Records[i].MD5OfBody = i, strings.Repeat("0", 32)
				}
			}
			event, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			h := w.handler("orders", func(context.Context, *godwit.Delivery) error { return nil },
				godwit.ConsumerOptions{Ordered: fifo})
			answer, err := h.Invoke(w.Context(), event)
			ids, e2 := failuresOf(answer)
			if err != nil || e2 != nil {
				t.Fatal(err, e2)
			}
			var bodies []string
			for _, id := range ids {
				for _, m := range ms {
					if *m.MessageId == id {
						bodies = append(bodies, *m.Body)
					}
				}
			}
			if got := strings.Join(bodies, " "); got != left {
				t.Errorf("fifo %v: to be delivered again: %s, want %s; altered was %d", fifo, got, left, altered)
			}
		})
	}
}

// An event of any content is an answer or an error.
func FuzzEvent(f *testing.F) {
	w := newWorld(f)
	f.Cleanup(w.close)
	w.make(orders, 3*time.Minute)
	h := w.handler("orders", func(context.Context, *godwit.Delivery) error { return nil }, godwit.ConsumerOptions{})
	w.send("orders", false, "a kite")
	f.Add(eventOf("orders", w.receive("orders", 1)))
	f.Add([]byte(`{"Records":[{"messageAttributes":{"a":{"binaryValue":"AAE="}}}]}`))
	f.Fuzz(func(t *testing.T, event []byte) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		answer, err := h.Invoke(ctx, event)
		if err != nil {
			return
		}
		if _, err := failuresOf(answer); err != nil {
			t.Error(err)
		}
	})
}
