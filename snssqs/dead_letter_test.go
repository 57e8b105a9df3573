package snssqs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// SQS accepts ten attributes. A foreign message with all ten gets our attribute as a dead letter, and loses none.
func TestADeadLetterOfTenAttributes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for n := 8; n <= 10; n++ {
			attributes := map[string]types.MessageAttributeValue{
				"routing_key":         text("A"),
				"ExtendedPayloadSize": {DataType: aws.String("Number"), StringValue: aws.String("9")},
			}
			want := map[string]string{"ExtendedPayloadSize": "9"}
			for i := range n - 2 {
				attributes[fmt.Sprint("a", i)], want[fmt.Sprint("a", i)] = text(fmt.Sprint(i)), fmt.Sprint(i)
			}
			w.foreign("orders", "x", attributes)
			r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
			w.reject(r, "no", w.receive(r, 1)...)
			letter := w.receive(lr, 1)[0]
			if diff := cmp.Diff(want, headers(letter)); diff != "" || letter.RoutingKey != "A" ||
				letter.Origin.Death.Error != "no" {
				t.Errorf("%d attributes (-want +got):\n%s%+v", n, diff, letter.Origin)
			}
			if err := lr.Settle(w.Context(), []driver.Settlement{{Handle: letter.Handle}}); err != nil {
				t.Error(err)
			}
		}
	})
}

// A message of exactly the size that SQS accepts is rejected with an error text of any kind and length.
func TestADeadLetterOfTheFullSize(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		for room, reasons := range map[int]bool{0: false, 400: true, 4000: true} {
			body := strings.Repeat("x", 1<<20-room)
			w.foreign("orders", body, nil)
			w.reject(r, strings.Repeat("\x00\uFFFE\xff", 1000), w.receive(r, 1)...)
			letter := w.receive(lr, 1)[0]
			if string(letter.Body) != body || letter.Origin == nil || letter.Err != nil {
				t.Fatalf("room %d: the dead letter has %d bytes, origin %v, %v", room, len(letter.Body), letter.Origin,
					letter.Err)
			}
			if got := letter.Origin.Death.Kind == "permanent"; got != reasons {
				t.Errorf("room %d: the dead letter's origin is %+v", room, letter.Origin)
			}
			if err := lr.Settle(w.Context(), []driver.Settlement{{Handle: letter.Handle}}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Ten large rejected messages do not fit into one request.
func TestLargeDeadLettersTravelInSeveralRequests(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		for range 5 {
			w.foreign("orders", strings.Repeat("x", 400<<10), nil)
		}
		ds := w.receive(r, 5)
		made := w.calls(func() { w.reject(r, "no", ds...) })
		if made["sqs.SendMessageBatch"] != 3 || made["sqs.DeleteMessageBatch"] != 1 {
			t.Errorf("calls %v, want three sends of two, two and one, and one delete", made)
		}
		w.receive(w.receiver(dead(orders), driver.Filter{}), 5)
	})
}

// Two messages with the same de-duplication id, sent after the de-duplication window, both get a dead letter, even if
// one is rejected soon after the other.
func TestADeadLetterHasADeduplicationIDOfItsOwn(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := driver.Channel{Queue: "orders", Ordered: true}
		w.ensure(owner(ch))
		r, lr := w.receiver(ch, driver.Filter{}), w.receiver(dead(ch), driver.Filter{})
		send := func(body string) {
			t.Helper()
			in := &sqs.SendMessageInput{
				QueueUrl: aws.String(w.url("orders.fifo")), MessageBody: &body,
				MessageGroupId: aws.String("key"), MessageDeduplicationId: aws.String("same"),
			}
			if _, err := w.sqs.SendMessage(w.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		send("first")
		time.Sleep(5*time.Minute + time.Second)
		send("second")
		w.reject(r, "no", w.receive(r, 2)...)
		if letters := w.receive(lr, 2); string(letters[0].Body) != "first" || string(letters[1].Body) != "second" {
			t.Errorf("dead letters %q and %q", letters[0].Body, letters[1].Body)
		}
	})
}

// Repeating a reject whose delete failed makes no second copy.
func TestARepeatedRejectMakesNoSecondCopy(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		w.foreign("orders", "x", nil)
		d := w.receive(r, 1)[0]
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}}
		})
		s := []driver.Settlement{{Handle: d.Handle, Action: driver.Reject}}
		if err := r.Settle(w.Context(), s); err == nil {
			t.Fatal("the delete failed, and Settle returned no error")
		}
		if err := r.Settle(w.Context(), s); err != nil {
			t.Fatal(err)
		}
		w.receive(lr, 1)
		if ds, err := lr.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) > 0 {
			t.Errorf("a second copy: %v, %v", ds, err)
		}
	})
}

// A dead-letter queue that was deleted by another program is created again, and no message is deleted before it is
// copied.
func TestALostDeadLetterQueueIsMadeAgain(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		for range 2 { // the first time the queue is not cached, the second time it is
			w.foreign("orders", "x", nil)
			d := w.receive(r, 1)
			if _, err := w.sqs.DeleteQueue(w.Context(),
				&sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("orders--dlq"))}); err != nil {
				t.Fatal(err)
			}
			w.reject(r, "no", d...)
			w.receive(w.receiver(dead(orders), driver.Filter{}), 1)
		}
	})
}

// A consumer that may not provision reports what is missing, and keeps the message.
func TestALostDeadLetterQueueThatMayNotBeMade(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		if _, err := w.sqs.DeleteQueue(w.Context(),
			&sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("orders--dlq"))}); err != nil {
			t.Fatal(err)
		}
		w.b = w.open(snssqs.Options{})
		r := w.receiver(orders, driver.Filter{})
		w.foreign("orders", "x", nil)
		d := w.receive(r, 1)[0]
		err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: driver.Reject}})
		if driver.ClassOf(err) != driver.NotFound || !strings.Contains(fmt.Sprint(err), "orders--dlq") {
			t.Errorf("reject: %v, want it to name the queue that is missing", err)
		}
		time.Sleep(31 * time.Second)
		w.receive(r, 1)
	})
}

func TestWhatAMessageCarriesSurvivesItsDeath(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		trace := "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
		if _, err := w.sqs.SendMessage(w.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(w.url("orders")), MessageBody: aws.String("x"), MessageGroupId: aws.String("tenant"),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &trace},
			},
		}); err != nil {
			t.Fatal(err)
		}
		d := w.receive(r, 1)
		if d[0].Tenant != "tenant" {
			t.Errorf("tenant %q", d[0].Tenant)
		}
		w.reject(r, "no", d...)
		out, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
			QueueUrl:                    aws.String(w.url("orders--dlq")),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		if err != nil || len(out.Messages) != 1 {
			t.Fatalf("%v, %v", out, err)
		}
		if a := out.Messages[0].Attributes; a["AWSTraceHeader"] != trace || a["MessageGroupId"] != "tenant" {
			t.Errorf("the dead letter's system attributes are %v", a)
		}
	})
}

// A message that SQS itself moved after too many receives has its origin, too.
func TestADeadLetterThatSQSMoved(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		s.MaxReceives = 1
		w.ensure(s)
		r := w.receiver(orders, driver.Filter{})
		w.foreign("orders", "x", nil)
		d := w.receive(r, 1)[0]
		time.Sleep(31 * time.Second)
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil || len(ds) > 0 {
			t.Fatalf("received %v, %v", ds, err)
		}
		letter := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]
		if o := letter.Origin; o == nil || o.Channel != orders || o.ID != d.ID {
			t.Errorf("origin %+v, want the message %s of orders", o, d.ID)
		}
	})
}
