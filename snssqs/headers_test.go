package snssqs_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// theirs is a backend with a mapped channel of the same name on a queue that another program has made.
func (w *world) theirs(o snssqs.Options) driver.Channel {
	w.Helper()
	if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Theirs")}); err != nil {
		w.Fatal(err)
	}
	o.Names = map[string]snssqs.Resource{"theirs": {Queue: queueARN + "Theirs"}}
	w.b = w.open(o)
	return driver.Channel{Queue: "theirs"}
}

// typed are the headers that a consumer gets for attributes.
func typed(attributes map[string]types.MessageAttributeValue) []driver.Header {
	hs := make([]driver.Header, 0, len(attributes))
	for i := range len(attributes) {
		name := fmt.Sprintf("a%d.x-y_%c", i, 'z'-i)
		a := attributes[name]
		h := driver.Header{Name: name, Type: *a.DataType}
		if h.Type == "String" {
			h.Type = ""
		}
		if a.StringValue != nil {
			h.Value = *a.StringValue
		} else {
			h.Value = base64.StdEncoding.EncodeToString(a.BinaryValue)
		}
		hs = append(hs, h)
	}
	return hs
}

// Where headers are attributes, the expiry is one of its own, and there is no envelope. A dead letter keeps both times,
// and a forwarded message gets an envelope for the first acceptance.
func TestTheExpiryIsAnAttributeOfOthers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := w.theirs(snssqs.Options{})
		send, in := w.sender(ch), w.receiver(ch, driver.Filter{})
		w.send(send, driver.Message{Body: []byte("x"), Expires: 90 * time.Second})
		d := w.receive(in, 1)[0]
		raw := rawOf(in, d.Handle)
		if len(raw.Header) != 1 || raw.Header[0].Name != "godwit_expires" || string(raw.Header[0].Value) != "90000" {
			t.Errorf("the attributes are %+v", raw.Header)
		}
		if d.Expires != 90*time.Second || len(d.Header) != 0 {
			t.Errorf("it expires after %v, with headers %v", d.Expires, d.Header)
		}
		time.Sleep(10 * time.Second)
		p, err := send.(driver.Forwarder).Forward(w.Context(), &driver.Forward{Raw: raw, ID: d.ID, First: d.First})
		if err == nil {
			err = send.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		again := w.receive(in, 1)[0]
		if !again.First.Equal(d.First) || again.Expires != d.Expires || len(again.Header) != 0 {
			t.Errorf("forwarded: accepted at %v, want %v; expires after %v, with headers %v", again.First, d.First,
				again.Expires, again.Header)
		}
	})
}

// Headers are attributes of every type for other programs, ten of them and nothing else; their attributes are headers
// here, which an own channel packs, and a mapped one turns into the same attributes again.
func TestHeadersAreTheAttributesOfOthers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		own := w.b
		ch := w.theirs(snssqs.Options{})
		mapped := w.b
		sent := seen{Body: "<é>", Attributes: everyType(10)}
		w.put("Theirs", sent)
		in := w.receiver(ch, driver.Filter{})
		d := w.receive(in, 1)[0]
		if diff := cmp.Diff(typed(sent.Attributes), d.Header); diff != "" {
			t.Errorf("received from another program (-want +got):\n%s", diff)
		}
		w.settled(in, d)
		w.b = own
		w.send(w.sender(orders), driver.Message{Body: d.Body, Header: d.Header})
		w.b = own
		packed := w.receiver(orders, driver.Filter{})
		got := w.receive(packed, 1)[0]
		if diff := cmp.Diff(d.Header, got.Header); diff != "" {
			t.Errorf("packed (-want +got):\n%s", diff)
		}
		w.b = mapped
		w.send(w.sender(ch), driver.Message{Body: got.Body, Header: got.Header})
		w.same("sent as attributes", sent, w.foreignly("Theirs"))
	})
}

// settled deletes a delivery.
func (w *world) settled(r driver.Receiver, d driver.Delivery) {
	w.Helper()
	if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: driver.Done}}); err != nil {
		w.Fatal(err)
	}
}

// What cannot be an attribute, or has the name of one that means something else, travels in Godwit's own. So does what
// only Godwit knows. A body like SNS's JSON is not unwrapped.
func TestWhatCannotBeAnAttributeIsPacked(t *testing.T) {
	wrapped := `{"Type":"Notification","TopicArn":"arn:aws:sns:eu-west-1:1:t","MessageId":"1","Message":"inner"}`
	const names = "godwit,é" // SQS does not accept the first
	with := func(hs ...driver.Header) driver.Message { return driver.Message{Body: []byte("x"), Header: hs} }
	for name, c := range map[string]struct {
		m      driver.Message
		native string // the attributes, with Godwit's
	}{
		"nothing":      {driver.Message{Body: []byte("x")}, ""},
		"plain":        {with(driver.Header{Name: "locale", Value: "de"}), "locale"},
		"a name":       {with(driver.Header{Name: "a b", Value: "1"}, driver.Header{Name: "é", Value: "1"}), names},
		"AWS's name":   {with(driver.Header{Name: "AWS.x", Value: "1"}), "godwit"},
		"our name":     {with(driver.Header{Name: "godwit", Value: "1"}), "godwit"},
		"a pointer":    {with(driver.Header{Name: "ExtendedPayloadSize", Value: "1"}), "godwit"},
		"no value":     {with(driver.Header{Name: "empty"}), "godwit"},
		"a type":       {driver.Message{Type: "order", Version: 2, ContentType: "text/plain"}, "godwit"},
		"a binary one": {driver.Message{Body: []byte{0, 1}}, "godwit"},
		"no body":      {driver.Message{}, "godwit"},
		"the routing": {
			driver.Message{RoutingKey: "A", Header: []driver.Header{{Name: "kind", Value: "B"}}}, "godwit,kind",
		},
		"like SNS's own": {driver.Message{Body: []byte(wrapped)}, "godwit"},
		"SNS and header": {
			driver.Message{Body: []byte(wrapped), Header: []driver.Header{{Name: "locale", Value: "de"}}},
			"godwit,locale",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				ch := w.theirs(snssqs.Options{
					AttributesOf: map[string]snssqs.Attributes{"theirs": {RoutingKey: "kind"}},
				})
				w.send(w.sender(ch), c.m)
				r := w.receiver(ch, driver.Filter{})
				d := w.receive(r, 1)[0]
				var m snssqs.Message
				r.As(d.Handle, &m)
				if got := strings.Join(sortedKeys(m.MessageAttributes), ","); got != c.native {
					t.Errorf("attributes %s, want %s", got, c.native)
				}
				got := driver.Message{
					Body: d.Body, Header: d.Header, RoutingKey: d.RoutingKey, Type: d.Type, Version: d.Version,
					ContentType: d.ContentType,
				}
				if diff := cmp.Diff(c.m, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Eleven attributes are an error of Send that names them, before a body is uploaded; a pointer and Godwit's own count.
func TestTooManyAttributesAreNamed(t *testing.T) {
	many := func(n int) (hs []driver.Header) {
		for i := range n {
			hs = append(hs, driver.Header{Name: fmt.Sprintf("h%02d", i), Value: "x"})
		}
		return hs
	}
	for name, c := range map[string]struct {
		m     driver.Message
		wrong string // "": it is sent
	}{
		"ten":                {driver.Message{Header: many(10), Body: []byte("x")}, ""},
		"eleven":             {driver.Message{Header: many(11), Body: []byte("x")}, "11 message attributes"},
		"nine and a key":     {driver.Message{Header: many(9), Body: []byte("x"), RoutingKey: "A"}, ""},
		"ten and a key":      {driver.Message{Header: many(10), Body: []byte("x"), RoutingKey: "A"}, "routing_key)"},
		"ten and a type":     {driver.Message{Header: many(10), Body: []byte("x"), Type: "order"}, "(godwit, h00"},
		"nine and a pointer": {driver.Message{Header: many(9), Body: make([]byte, 1<<20)}, ""},
		"ten and a pointer":  {driver.Message{Header: many(10), Body: make([]byte, 1<<20)}, "(ExtendedPayloadSize,"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				ch := w.theirs(snssqs.Options{Store: w.store(s3store.Options{Bucket: "bodies"})})
				s := w.sender(ch)
				_, err := s.Prepare(w.Context(), &c.m)
				refused := driver.ClassOf(err) == driver.Permanent
				named := err != nil && strings.Contains(err.Error(), c.wrong)
				if c.wrong == "" && err != nil || c.wrong != "" && !(refused && named) {
					t.Errorf("%v, want %q", err, c.wrong)
				}
				if n := w.objects(); err != nil && n > 0 {
					t.Errorf("%d bodies were uploaded", n)
				}
			})
		})
	}
}

// A type that a value does not have is an error that names the header, packed or not.
func TestHeadersHaveTheirTypes(t *testing.T) {
	for _, packed := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := w.theirs(snssqs.Options{})
			if packed {
				w.b = w.open(snssqs.Options{
					Names:      map[string]snssqs.Resource{"theirs": {Queue: queueARN + "Theirs"}},
					Attributes: snssqs.Attributes{Headers: snssqs.HeadersPacked},
				})
			}
			s := w.sender(ch)
			for _, c := range []struct{ kind, value, wrong string }{
				{"Number", "1.5", ""},
				{"Number", "-0", ""},
				{"Number.int", "1e126", ""},
				{"Number", "1E-128", ""},
				{"Number", strings.Repeat("9", 38), ""},
				{"Number", "000" + strings.Repeat("9", 38), ""},
				{"Number", strings.Repeat("9", 39), "no number"},
				{"Number", "1e127", "no number"},
				{"Number", "0x10", "no number"},
				{"Number", "inf", "no number"},
				{"Number", "", "no number"},
				{"Number", "1_0", "no number"},
				{"Number", " 1", "no number"},
				{"Binary", "AP8=", ""},
				{"Binary.gif", "AP8=", ""},
				{"Binary", "?", "not base64"},
				{"String.x", "é", ""},
				{"Boolean", "true", "String, Number or Binary"},
				{"string", "x", "String, Number or Binary"},
				{"String." + strings.Repeat("x", 250), "x", "at most 256"},
			} {
				h := driver.Header{Name: "h", Value: c.value, Type: c.kind}
				m := driver.Message{Body: []byte("x"), Header: []driver.Header{h}}
				_, err := s.Prepare(w.Context(), &m)
				if c.wrong == "" {
					if err != nil {
						t.Errorf("packed %v: %s %q: %v", packed, c.kind, c.value, err)
						continue
					}
					w.send(s, m)
				} else if driver.ClassOf(err) != driver.Permanent || !strings.Contains(err.Error(), c.wrong) ||
					!strings.Contains(err.Error(), "header h ") {
					t.Errorf("packed %v: %s %q: %v, want %q", packed, c.kind, c.value, err, c.wrong)
				}
			}
		})
	}
}

// Filter policies of other programs see headers as they are. Each queue has the form of its exchange.
func TestFilterPoliciesSeeHeaders(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		native := snssqs.Attributes{Headers: snssqs.HeadersNative}
		w.b = w.open(snssqs.Options{AttributesOf: map[string]snssqs.Attributes{"wishes.*": native}})
		mine := driver.Channel{Exchange: "wishes", Queue: "mine"}
		w.ensure(owner(mine))
		subs, err := w.sns.ListSubscriptions(w.Context(), &sns.ListSubscriptionsInput{})
		if err != nil || len(subs.Subscriptions) != 1 {
			t.Fatal(subs, err)
		}
		if _, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: subs.Subscriptions[0].SubscriptionArn, AttributeName: aws.String("FilterPolicy"),
			AttributeValue: aws.String(`{"amount":[{"numeric":[">",5]}],"tags":["b"]}`),
		}); err != nil {
			t.Fatal(err)
		}
		s := w.sender(driver.Channel{Exchange: "wishes"})
		for _, amount := range []string{"5", "6.5"} {
			w.send(s, driver.Message{Body: []byte(amount), Header: []driver.Header{
				{Name: "amount", Value: amount, Type: "Number"},
				{Name: "tags", Value: `["a","b"]`, Type: "String.Array"},
			}})
		}
		r := w.receiver(mine, driver.Filter{})
		if d := w.receive(r, 1)[0]; string(d.Body) != "6.5" {
			t.Errorf("received %q", d.Body)
		}
		if ds, err := r.Receive(w.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) > 0 {
			t.Errorf("received %d more, %v", len(ds), err)
		}
	})
}

// A message without any header has an attribute on a topic, because SNS lets no other one pass an Exclude.
func TestAnExcludeLetsMessagesWithoutHeadersPass(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.b = w.open(snssqs.Options{Attributes: snssqs.Attributes{Headers: snssqs.HeadersNative}})
		mine := driver.Channel{Exchange: "wishes", Queue: "mine"}
		spec := owner(mine)
		spec.Filter = driver.Filter{Exclude: []string{"BOOK"}}
		w.ensure(spec)
		w.send(w.sender(driver.Channel{Exchange: "wishes"}), driver.Message{Body: []byte("x")})
		w.receive(w.receiver(mine, spec.Filter), 1)
	})
}
