package snssqs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

// everyType is n attributes, at most ten, of every type.
func everyType(n int) map[string]types.MessageAttributeValue {
	all := map[string]types.MessageAttributeValue{}
	for i, a := range []types.MessageAttributeValue{
		{DataType: aws.String("String"), StringValue: aws.String("é\t☃ ")},
		{DataType: aws.String("Binary"), BinaryValue: []byte{0, 0xff, 0xfe, '\n'}},
		{DataType: aws.String("Number"), StringValue: aws.String("1.50")},
		{DataType: aws.String("String.json"), StringValue: aws.String(`{"a": "<&>"}`)},
		{DataType: aws.String("Number.int"), StringValue: aws.String("007")},
		{DataType: aws.String("Binary.png"), BinaryValue: []byte("\x89PNG")},
		{DataType: aws.String("String.Array"), StringValue: aws.String(`["a", 1]`)},
		{DataType: aws.String("Number.float"), StringValue: aws.String("1E-5")},
		{DataType: aws.String("Binary"), BinaryValue: []byte("text")},
		{DataType: aws.String("String"), StringValue: aws.String("last")},
	}[:n] {
		all[fmt.Sprintf("a%d.x-y_%c", i, 'z'-i)] = a
	}
	return all
}

// seen is a message as a foreign consumer receives it.
type seen struct {
	Body       string
	Attributes map[string]types.MessageAttributeValue
	Group      string
	Trace      string
}

// foreignly receives and deletes a message as another program does.
func (w *world) foreignly(queue string) seen {
	w.Helper()
	url := w.url(queue)
	out, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &url, MessageAttributeNames: []string{"All"}, WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}, MaxNumberOfMessages: 10,
	})
	if err != nil || len(out.Messages) != 1 {
		w.Fatalf("%s: %d messages, %v", queue, len(out.Messages), err)
	}
	m := out.Messages[0]
	if _, err := w.sqs.DeleteMessage(w.Context(),
		&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
		w.Fatal(err)
	}
	return seen{*m.Body, m.MessageAttributes, m.Attributes["MessageGroupId"], m.Attributes["AWSTraceHeader"]}
}

func (w *world) same(where string, want, got seen) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.MessageAttributeValue{}),
		cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("%s (-want +got):\n%s", where, diff)
	}
}

// put sends a message of another program, with everything that such a message can have.
func (w *world) put(queue string, want seen) {
	w.Helper()
	in := &sqs.SendMessageInput{
		QueueUrl: aws.String(w.url(queue)), MessageBody: &want.Body, MessageAttributes: want.Attributes,
	}
	if want.Group != "" {
		in.MessageGroupId = &want.Group
	}
	if strings.HasSuffix(queue, ".fifo") {
		in.MessageDeduplicationId = aws.String("theirs")
	}
	if want.Trace != "" {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &want.Trace},
		}
	}
	if _, err := w.sqs.SendMessage(w.Context(), in); err != nil {
		w.Fatal(err)
	}
}

// forward is a raw message of a delivery.
func forward(r driver.Receiver, d driver.Delivery) *driver.Forward {
	return &driver.Forward{Raw: rawOf(r, d.Handle), ID: d.ID}
}

// pass sends a raw message on, and returns its receipt.
func (w *world) pass(s driver.Sender, f *driver.Forward) driver.Receipt {
	w.Helper()
	p, err := s.(driver.Forwarder).Forward(w.Context(), f)
	var receipt driver.Receipt
	if p.Receipt = &receipt; err == nil {
		err = s.Send(w.Context(), []driver.Prepared{p})
	}
	if err != nil {
		w.Fatal(err)
	}
	return receipt
}

// A foreign message with ten attributes arrives everywhere as it was sent, byte for byte.
func TestForwardedMessagesKeepEverything(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered %v", ordered), func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) { w.forwardsEverywhere(ordered) })
		})
	}
}

func (w *world) forwardsEverywhere(ordered bool) {
	suffix := ""
	if ordered {
		suffix = ".fifo"
	}
	ch := func(exchange, queue string) driver.Channel {
		return driver.Channel{Exchange: exchange, Queue: queue, Ordered: ordered}
	}
	for _, c := range []driver.Channel{ch("", "orders"), ch("", "other"), ch("news", "one"), ch("news", "two")} {
		w.ensure(owner(c))
	}
	sent := seen{Body: "{\"a\":\t\"<é>\"}\n", Attributes: everyType(10), Group: "key/1", Trace: trace}
	w.put("orders"+suffix, sent)
	r := w.receiver(ch("", "orders"), driver.Filter{})
	d := w.receive(r, 1)[0]
	for to, queues := range map[driver.Channel][]string{
		ch("", "other"):       {"other"},
		dead(ch("", "other")): {"other--dlq"},
		ch("news", "one"):     {"news--one"},
		ch("news", ""):        {"news--one", "news--two"},
	} {
		w.pass(w.sender(to), forward(r, d))
		for _, q := range queues {
			want := sent
			if to.Queue == "" {
				want.Trace = "" // SNS takes none
			}
			w.same(fmt.Sprintf("%s through %s", q+suffix, to), want, w.foreignly(q+suffix))
		}
	}
	// A copy does not have the id for duplicates of its original.
	w.pass(w.sender(ch("", "orders")), forward(r, d))
	if err := w.settle(r, driver.Done, d); err != nil {
		w.Error(err)
	}
	w.same("back to orders", sent, w.foreignly("orders"+suffix))
}

// A FIFO queue accepts a message once that is forwarded twice, for each destination. Groups are those that the
// destination needs.
func TestForwardToAnotherKindOfQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		sorted := driver.Channel{Queue: "sorted", Ordered: true}
		w.ensure(owner(orders))
		w.ensure(owner(sorted))
		w.put("orders", seen{Body: "x"})
		r := w.receiver(orders, driver.Filter{})
		f := forward(r, w.receive(r, 1)[0])
		s := w.sender(sorted)
		first, second := w.pass(s, f), w.pass(s, f)
		if first.Duplicate || !second.Duplicate || first.ID != second.ID {
			t.Errorf("receipts %+v and %+v", first, second)
		}
		sr := w.receiver(sorted, driver.Filter{})
		d := w.receive(sr, 1)[0]
		if d.OrderKey != "" || string(d.Body) != "x" {
			t.Errorf("the ordered channel delivers %+v", d)
		}
		w.pass(w.sender(orders), forward(sr, d))
		if got := w.receive(r, 1)[0]; got.Tenant != "" || got.OrderKey != "" {
			t.Errorf("a message without an order key has tenant %q", got.Tenant)
		}
	})
}

// A message dies and is revived, several times. A foreign consumer finds its attributes as they were, and the history
// while there is room for it.
func TestRevivedMessages(t *testing.T) {
	for _, c := range []struct {
		name   string
		more   map[string]types.MessageAttributeValue
		n      int
		deaths []int // after each death
		own    bool  // the revived message has an envelope
	}{
		{name: "none", n: 0, deaths: []int{1, 2, 3}, own: true},
		{name: "nine", n: 9, deaths: []int{1, 2, 3}, own: true},
		{name: "ten", n: 10, deaths: []int{1, 1, 1}},
		{
			name: "an attribute of the envelope's name", n: 3, deaths: []int{1, 1},
			more: map[string]types.MessageAttributeValue{"godwit": text("hello")},
		},
		{
			name: "a binary one of that name, and nine", n: 9, deaths: []int{1, 1},
			more: map[string]types.MessageAttributeValue{
				"godwit": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.ensure(owner(orders))
				sent := seen{Body: "x", Attributes: everyType(c.n), Group: "tenant", Trace: trace}
				maps.Copy(sent.Attributes, c.more)
				w.put("orders", sent)
				r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
				first := w.receive(r, 1)[0]
				shown := headers(first)
				letter := w.deadOf(r, lr, first, c.deaths[0])
				if c.more != nil { // before, it was taken for an envelope
					shown["godwit"] = headers(letter)["godwit"]
				}
				for _, deaths := range c.deaths[1:] {
					w.revive(lr)
					letter := w.deadOf(r, lr, w.receive(r, 1)[0], deaths)
					if diff := cmp.Diff(shown, headers(letter)); diff != "" {
						t.Errorf("the dead letter's headers (-want +got):\n%s", diff)
					}
				}
				w.revive(lr)
				got := w.foreignly("orders")
				if c.own {
					if _, own := got.Attributes["godwit"]; !own {
						t.Error("the revived message has no history")
					}
					delete(got.Attributes, "godwit")
				}
				w.same("revived", sent, got)
			})
		})
	}
}

// deadOf rejects a delivery, and returns its dead letter.
func (w *world) deadOf(r, lr driver.Receiver, d driver.Delivery, deaths int) driver.Delivery {
	w.Helper()
	w.reject(r, "no", d)
	letter := w.receive(lr, 1)[0]
	if o := letter.Origin; o == nil || o.Deaths != deaths || o.Death.Error != "no" || o.ID != d.ID {
		w.Errorf("the dead letter's origin is %+v, want %d deaths", o, deaths)
	}
	if err := w.settle(lr, driver.Release, letter); err != nil {
		w.Fatal(err)
	}
	return letter
}

// revive sends a dead letter back.
func (w *world) revive(lr driver.Receiver) {
	w.Helper()
	letter := w.receive(lr, 1)[0]
	home, err := w.b.Return(w.Context(), dead(orders), true)
	if err != nil {
		w.Fatal(err)
	}
	if home.Shared || home.Address != queueARN+"orders" {
		w.Errorf("the way back is %+v", home)
	}
	f := forward(lr, letter)
	f.Revive = true
	w.pass(home.Forwarder, f)
	if err := lr.Settle(w.Context(), []driver.Settlement{{Handle: letter.Handle, KeepBody: true}}); err != nil {
		w.Fatal(err)
	}
}

// A message that SQS moved has no reasons. Its history tells of its earlier deaths only, which are not why it died now.
func TestAMessageThatSQSMovedAfterItWasRevived(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		s.MaxReceives = 1
		w.ensure(s)
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		w.foreign("orders", "x", nil)
		first := w.receive(r, 1)[0]
		w.deadOf(r, lr, first, 1)
		w.revive(lr)
		d := w.receive(r, 1)[0]
		time.Sleep(31 * time.Second)
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil || len(ds) > 0 {
			t.Fatalf("received %v, %v", ds, err)
		}
		letter := w.receive(lr, 1)[0]
		want := &driver.Origin{Channel: orders, ID: d.ID, Deaths: 1, Earlier: []string{first.ID}}
		if diff := cmp.Diff(want, letter.Origin); diff != "" {
			t.Errorf("origin (-want +got):\n%s", diff)
		}
	})
}

// The revived message of a delay is due at once.
func TestARevivedMessageDoesNotWaitAgain(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.send(w.sender(orders), driver.Message{Body: []byte("x"), Delay: time.Minute})
		time.Sleep(time.Minute)
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		w.deadOf(r, lr, w.receive(r, 1)[0], 1)
		w.revive(lr)
		if d := w.receive(r, 1)[0]; !d.Due.IsZero() {
			t.Errorf("the revived message is due at %v, and was sent at %v", d.Due, d.SentAt)
		}
	})
}

// The message of a dead letter goes to the queue that it died in, and no other queue of the exchange gets it.
func TestReturnedAlone(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		var rs []driver.Receiver
		ch := driver.Channel{Exchange: "news", Ordered: true}
		for _, q := range []string{"one", "two", "three"} {
			ch.Queue = q
			w.ensure(owner(ch))
			rs = append(rs, w.receiver(ch, driver.Filter{}))
		}
		w.send(w.sender(driver.Channel{Exchange: "news", Ordered: true}), driver.Message{
			Body: []byte("x"), OrderKey: "a key", RoutingKey: "A",
			Header: []driver.Header{{Name: "locale", Value: "de"}},
		})
		want := w.receive(rs[0], 1)[0]
		for _, r := range rs[1:] {
			if err := w.settle(r, driver.Done, w.receive(r, 1)...); err != nil {
				t.Fatal(err)
			}
		}
		w.reject(rs[0], "no", want)
		ch.Queue = "one"
		lr := w.receiver(dead(ch), driver.Filter{})
		home, err := w.b.Return(w.Context(), dead(ch), false)
		if err != nil {
			t.Fatal(err)
		}
		f := forward(lr, w.receive(lr, 1)[0])
		f.Revive = true
		w.pass(home.Forwarder, f)
		got := w.receive(rs[0], 1)[0]
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(driver.Delivery{}, "ID", "SentAt", "LeaseEnds", "Source",
			"Handle")); diff != "" || got.ID == want.ID {
			t.Errorf("returned (-want +got):\n%s", diff)
		}
		for _, r := range rs[1:] {
			if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) > 0 {
				t.Errorf("another queue has %d messages, %v", len(ds), err)
			}
		}
		if _, err := w.b.Return(w.Context(), driver.Channel{Exchange: "news", DeadLetter: true}, true); err == nil {
			t.Error("an exchange has a way back")
		}
		missing := driver.Channel{Queue: "missing", DeadLetter: true}
		if _, err := w.b.Return(w.Context(), missing, true); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("the way back to a channel that does not exist: %v", err)
		}
	})
}

// Dead letters that several queues share go back to none of them, because they do not say from which they are.
func TestSharedDeadLettersAreNotReturned(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(driver.Channel{Queue: "other"}))
		mapped := w.open(snssqs.Options{Names: map[string]snssqs.Resource{"theirs": {Queue: queueARN + "orders"}}})
		theirs := driver.Channel{Queue: "theirs"}
		home, err := mapped.Return(w.Context(), dead(theirs), true)
		if err != nil || home.Address != queueARN+"orders" {
			t.Errorf("the way back of a mapped queue is %+v, %v", home, err)
		}
		w.set("other", map[string]string{
			"RedrivePolicy": `{"deadLetterTargetArn":"` + queueARN + `orders--dlq","maxReceiveCount":"30"}`,
		})
		_, err = mapped.Return(w.Context(), dead(theirs), true)
		if driver.ClassOf(err) != driver.Permanent || !strings.Contains(fmt.Sprint(err), "/other,") {
			t.Errorf("the way back of shared dead letters: %v", err)
		}
	})
}

// An edited body is encoded as a new one, and nothing else changes.
func TestEditedMessages(t *testing.T) {
	large := strings.Repeat("large", 100_000)
	for _, c := range []struct {
		name         string
		was, is      string
		n            int // attributes
		objects, own bool
	}{
		{name: "text", was: "x", is: "y", n: 10},
		{name: "binary", was: "x", is: "\x00\xff", n: 9, own: true},
		{name: "empty", was: "x", is: "", n: 0, own: true},
		{name: "large", was: "x", is: large, n: 9, objects: true},
		{name: "large, with ten attributes", was: "x", is: large, n: 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
				w.ensure(owner(orders))
				w.ensure(owner(driver.Channel{Queue: "other"}))
				sent := seen{Body: c.was, Attributes: everyType(c.n), Group: "tenant", Trace: trace}
				w.put("orders", sent)
				r := w.receiver(orders, driver.Filter{})
				or := w.receiver(driver.Channel{Queue: "other"}, driver.Filter{})
				d := w.receive(r, 1)[0]
				f := forward(r, d)
				f.Edited, f.Body = true, []byte(c.is)
				w.pass(w.sender(driver.Channel{Queue: "other"}), f)
				got := w.receive(or, 1)[0]
				diff := cmp.Diff(headers(d), headers(got))
				if diff != "" || w.body(got) != c.is || got.Tenant != d.Tenant {
					t.Errorf("edited to %.20q, tenant %q (-want +got):\n%s", w.body(got), got.Tenant, diff)
				}
				if (w.objects() > 0) != c.objects {
					t.Errorf("there are %d objects", w.objects())
				}
				raw := rawOf(or, got.Handle)
				n := c.n
				if c.own || c.objects {
					n++
				}
				if len(raw.Header) != n || raw.Trace != trace {
					t.Errorf("attributes %v, want %d; trace %q", raw.Header, n, raw.Trace)
				}
				// From there back to a small text.
				f = forward(or, got)
				f.Edited, f.Body = true, []byte("small")
				w.pass(w.sender(orders), f)
				back := w.foreignly("orders")
				delete(back.Attributes, "godwit")
				w.same("edited again", seen{"small", sent.Attributes, "tenant", trace}, back)
			})
		})
	}
}

// The message inside of SNS's JSON is edited, not the JSON.
func TestEditedNotification(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		ch := driver.Channel{Exchange: "news", Queue: "one"}
		w.ensure(owner(ch))
		topic := w.server.SNS().Topics()[0]
		if _, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: &topic.Subscriptions[0].ARN, AttributeName: aws.String("RawMessageDelivery"),
			AttributeValue: aws.String("false"),
		}); err != nil {
			t.Fatal(err)
		}
		w.send(w.sender(driver.Channel{Exchange: "news"}), driver.Message{
			Body: []byte("x"), RoutingKey: "A", Header: []driver.Header{{Name: "locale", Value: "de"}},
		})
		r, lr := w.receiver(ch, driver.Filter{}), w.receiver(dead(ch), driver.Filter{})
		d := w.receive(r, 1)[0]
		want, key := headers(d), d.RoutingKey
		for i, body := range []string{"y<>\u2028", "\x00\xff", strings.Repeat("z", 300_000), ""} {
			w.reject(r, "no", d)
			letter := w.receive(lr, 1)[0]
			if letter.Origin.Deaths != i+1 {
				t.Errorf("%d deaths, want %d", letter.Origin.Deaths, i+1)
			}
			home, err := w.b.Return(w.Context(), dead(ch), true)
			if err != nil {
				t.Fatal(err)
			}
			f := forward(lr, letter)
			f.Revive, f.Edited, f.Body = true, true, []byte(body)
			w.pass(home.Forwarder, f)
			if err := w.settle(lr, driver.Done, letter); err != nil {
				t.Fatal(err)
			}
			d = w.receive(r, 1)[0]
			if diff := cmp.Diff(want, headers(d)); diff != "" || w.body(d) != body || d.RoutingKey != key {
				t.Errorf("edited to %.20q, %q (-want +got):\n%s", w.body(d), d.RoutingKey, diff)
			}
			if raw := rawOf(r, d.Handle); !strings.Contains(string(raw.Body), "Notification") {
				t.Errorf("the body is %.100s", raw.Body)
			}
		}
	})
}

// A forwarded pointer leads to a body that lasts, and that no other reader deletes.
func TestForwardedPointers(t *testing.T) {
	const day = 24 * time.Hour
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{Lifetime: 40 * day})})
		body := strings.Repeat("large", 100_000)
		news := driver.Channel{Exchange: "news", Queue: "one"}
		for _, ch := range []driver.Channel{orders, {Queue: "other"}, news} {
			w.ensure(owner(ch))
		}
		w.send(w.sender(orders), driver.Message{Body: []byte(body)})
		r, lr := w.receiver(orders, driver.Filter{}), w.receiver(dead(orders), driver.Filter{})
		w.reject(r, "no", w.receive(r, 1)...)
		read := func(r driver.Receiver, objects int) driver.Delivery {
			t.Helper()
			d := w.receive(r, 1)[0]
			if w.body(d) != body || w.objects() != objects {
				t.Fatalf("the body has %d bytes; %d objects, want %d", len(w.body(d)), w.objects(), objects)
			}
			return d
		}
		time.Sleep(10 * day)
		w.revive(lr)
		w.deadOf(r, lr, read(r, 1), 2)
		time.Sleep(11 * day) // now the object is older than half of its lifetime
		w.revive(lr)
		d := read(r, 2)
		if err := w.settle(r, driver.Done, d); err != nil { // deletes the new object only
			t.Fatal(err)
		}
		synctest.Wait() // a settlement does not wait for the delete

		w.send(w.sender(orders), driver.Message{Body: []byte(body)})
		d = w.receive(r, 1)[0]
		w.pass(w.sender(driver.Channel{Exchange: "news"}), forward(r, d))
		nr := w.receiver(news, driver.Filter{})
		shared := read(nr, 3)
		pointer := rawOf(nr, shared.Handle)
		if !strings.Contains(string(pointer.Body), `"topics/news/`) {
			t.Errorf("the topic's pointer is %s", pointer.Body)
		}
		w.pass(w.sender(driver.Channel{Queue: "other"}), forward(nr, shared))
		other := w.receiver(driver.Channel{Queue: "other"}, driver.Filter{})
		d = read(other, 3)
		if got := rawOf(other, d.Handle); string(got.Body) != string(pointer.Body) {
			t.Errorf("the pointer %s became %s", pointer.Body, got.Body)
		}
		if err := w.settle(other, driver.Done, d); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.body(shared)
	})
}

// A standard queue may deliver a message again that was forwarded. It is discarded, and the body stays.
func TestKeepBodyIsRemembered(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{})})
		w.ensure(owner(orders))
		w.send(w.sender(orders), driver.Message{Body: []byte(strings.Repeat("large", 100_000))})
		r := w.receiver(orders, driver.Filter{})
		d := w.receive(r, 1)[0]
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "RequestThrottled", Message: "Rate exceeded"}}
		})
		if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, KeepBody: true}}); err == nil {
			t.Fatal("the delete failed, and Settle returned no error")
		}
		time.Sleep(31 * time.Second)
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) > 0 {
			t.Fatalf("received %v, %v", ds, err)
		}
		if err := r.Close(w.Context()); err != nil { // after it no delete is in flight
			t.Fatal(err)
		}
		if w.objects() != 1 {
			t.Error("the body of a forwarded message was deleted")
		}
	})
}

func TestForwardRefuses(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		sorted := driver.Channel{Queue: "sorted", Ordered: true}
		w.ensure(owner(sorted))
		w.ensure(owner(driver.Channel{Exchange: "news", Queue: "one"}))
		attribute := func(name, kind, value string) []driver.RawHeader {
			return []driver.RawHeader{{Name: name, Type: kind, Value: []byte(value)}}
		}
		var eleven []driver.RawHeader
		for i := range 11 {
			eleven = append(eleven, attribute(fmt.Sprint("a", i), "String", "x")...)
		}
		sqsRaw := func(change func(*driver.Raw)) driver.Raw {
			r := driver.Raw{Format: "sqs", Body: []byte("x")}
			change(&r)
			return r
		}
		news := driver.Channel{Exchange: "news"}
		for _, c := range []struct {
			name  string
			to    driver.Channel
			raw   driver.Raw
			id    string
			class driver.Class
			says  string
		}{
			{"format", orders, driver.Raw{Format: "kafka"}, "1", driver.Permanent, `"kafka"`},
			{"eleven", orders, sqsRaw(func(r *driver.Raw) { r.Header = eleven }), "1", driver.Permanent, "11 attrib"},
			{
				"twice", orders, sqsRaw(func(r *driver.Raw) { r.Header = append(eleven[:1:1], eleven[0]) }), "1",
				driver.Permanent, "a0",
			},
			{
				"name", orders, sqsRaw(func(r *driver.Raw) { r.Header = attribute("AWS.x", "String", "x") }), "1",
				driver.Permanent, "AWS.x",
			},
			{
				"name of SNS", news, sqsRaw(func(r *driver.Raw) { r.Header = attribute("é", "String", "x") }), "1",
				driver.Permanent, "é",
			},
			{
				"type", orders, sqsRaw(func(r *driver.Raw) { r.Header = attribute("a", "Text", "x") }), "1",
				driver.Permanent, "Text",
			},
			{
				"value", orders, sqsRaw(func(r *driver.Raw) { r.Header = attribute("a", "Binary", "") }), "1",
				driver.Permanent, "no value",
			},
			{
				"text", orders, sqsRaw(func(r *driver.Raw) { r.Header = attribute("a", "String.x", "\x00") }), "1",
				driver.Permanent, "characters",
			},
			{"empty", orders, sqsRaw(func(r *driver.Raw) { r.Body = nil }), "1", driver.Permanent, "no body"},
			{"body", orders, sqsRaw(func(r *driver.Raw) { r.Body = []byte{0} }), "1", driver.Permanent, "characters"},
			{"trace", orders, sqsRaw(func(r *driver.Raw) { r.Trace = "\x00" }), "1", driver.Permanent, "trace"},
			{"group", orders, sqsRaw(func(r *driver.Raw) { r.Key = []byte("a b") }), "1", driver.Permanent, "a b"},
			{"id", sorted, sqsRaw(func(*driver.Raw) {}), "", driver.Permanent, "no id"},
			{
				"large", orders, sqsRaw(func(r *driver.Raw) { r.Body = []byte(strings.Repeat("x", 1<<20+1)) }), "1",
				driver.TooLarge, "1048577",
			},
			{
				"large for the topic", news,
				sqsRaw(func(r *driver.Raw) { r.Body = []byte(strings.Repeat("x", 300_000)) }), "1",
				driver.TooLarge, "262144",
			},
			{
				"no store", orders, sqsRaw(func(r *driver.Raw) {
					r.Header = attribute("ExtendedPayloadSize", "Number", "5")
					r.Body = []byte(`["software.amazon.payloadoffloading.PayloadS3Pointer",` +
						`{"s3BucketName":"b","s3Key":"k","godwit":{"v":1,"size":5,"sha256":"ab"}}]`)
				}), "1", driver.Permanent, "Options.Store",
			},
		} {
			_, err := w.sender(c.to).(driver.Forwarder).Forward(w.Context(), &driver.Forward{Raw: c.raw, ID: c.id})
			if err == nil || driver.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v (%v), want %v with %q", c.name, err, driver.ClassOf(err), c.class, c.says)
			}
		}
		// The pointer of another program is sent on as it is, by a backend without a store, too.
		foreign := sqsRaw(func(r *driver.Raw) {
			r.Header = attribute("ExtendedPayloadSize", "Number", "5")
			r.Body = []byte(`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"}]`)
		})
		w.pass(w.sender(orders), &driver.Forward{Raw: foreign, ID: "1"})
		if got := w.foreignly("orders"); got.Body != string(foreign.Body) {
			t.Errorf("the pointer became %s", got.Body)
		}
	})
}

// A body that is gone is an error, so that its message stays where it is.
func TestForwardOfAMissingBody(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Store: w.store(s3store.Options{Lifetime: 28 * 24 * time.Hour})})
		w.ensure(owner(orders))
		w.send(w.sender(orders), driver.Message{Body: []byte(strings.Repeat("large", 100_000))})
		r := w.receiver(orders, driver.Filter{})
		f := forward(r, w.receive(r, 1)[0])
		time.Sleep(30 * 24 * time.Hour)
		_, err := w.sender(orders).(driver.Forwarder).Forward(w.Context(), f)
		var fault *driver.PayloadError
		if !errors.As(err, &fault) || fault.Fault != driver.PayloadMissing {
			t.Errorf("forward a message whose body is gone: %v", err)
		}
	})
}

// rawOf is a delivery as it is in its queue.
func rawOf(r driver.Receiver, h driver.Handle) (raw driver.Raw) {
	r.As(h, &raw)
	return raw
}
