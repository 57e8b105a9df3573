package snssqs_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

var orders = driver.Channel{Queue: "orders"}

func headers(d driver.Delivery) map[string]string {
	m := map[string]string{}
	for _, h := range d.Header {
		m[h.Name] = h.Value
	}
	return m
}

func dead(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

func TestForeignMessagesArriveAsTheyAre(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		ten := map[string]types.MessageAttributeValue{}
		want := map[string]string{}
		for i := range 8 {
			ten[fmt.Sprint("a", i)], want[fmt.Sprint("a", i)] = text(fmt.Sprint(i)), fmt.Sprint(i)
		}
		ten["n"], want["n"] = types.MessageAttributeValue{
			DataType:    aws.String("Number.int"),
			StringValue: aws.String("7"),
		}, "7"
		ten["raw"] = types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte{0, 255, 1}}
		want["raw"] = base64.StdEncoding.EncodeToString([]byte{0, 255, 1})
		s3 := `{"Records":[{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}]}`
		for _, c := range []struct {
			body       string
			attributes map[string]types.MessageAttributeValue
			want       map[string]string
			key        string
		}{
			{body: "plain", want: map[string]string{}},
			{body: "with ten", attributes: ten, want: want},
			{body: s3, want: map[string]string{}},
			{
				body: "routed", attributes: map[string]types.MessageAttributeValue{"routing_key": text("A.B")},
				want: map[string]string{}, key: "A.B",
			},
			{
				// Similar to SNS's JSON, but without an id.
				body: `{"Type":"Notification","TopicArn":"t"}`,
				want: map[string]string{},
			},
			{body: `{"TopicArn": broken`, want: map[string]string{}},
		} {
			w.foreign("orders", c.body, c.attributes)
			d := w.receive(r, 1)[0]
			if string(d.Body) != c.body || d.Err != nil || d.RoutingKey != c.key {
				t.Errorf("sent %q, received %q, routing key %q, %v", c.body, d.Body, d.RoutingKey, d.Err)
			}
			if diff := cmp.Diff(c.want, headers(d)); diff != "" {
				t.Errorf("headers of %q (-want +got):\n%s", c.body, diff)
			}
			if err := r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle}}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestUndecodableMessagesKeepTheirBytes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		for envelope, part := range map[string]string{
			`{"v":2}`:              "update the consumer",
			`hello`:                "not an envelope",
			`{"v":1,"e":"base64"`:  "not an envelope",
			`{"v":1,"e":"base64"}`: "decoded: illegal base64",
			`{"v":1,"e":"zstd"}`:   "zstd",
		} {
			w.foreign("orders", "!raw!",
				map[string]types.MessageAttributeValue{"godwit": text(envelope), "mine": text("1")})
			d := w.receive(r, 1)[0]
			if d.Err == nil || !strings.Contains(d.Err.Error(), part) || string(d.Body) != "!raw!" ||
				headers(d)["mine"] != "1" {
				t.Errorf("%s: received %q, headers %v, %v", envelope, d.Body, d.Header, d.Err)
			}
			w.reject(r, "undecodable", d)
			letter := w.receive(w.receiver(dead(orders), driver.Filter{}), 1)[0]
			if string(letter.Body) != "!raw!" || headers(letter)["mine"] != "1" || letter.Origin == nil ||
				letter.Origin.ID == "" {
				t.Errorf("%s: the dead letter is %q, headers %v, origin %+v", envelope, letter.Body, letter.Header,
					letter.Origin)
			}
			if envelope == "hello" && headers(letter)["godwit"] != "hello" {
				t.Errorf("the dead letter has lost the attribute: %v", letter.Header)
			}
			lr := w.receiver(dead(orders), driver.Filter{})
			if err := lr.Settle(w.Context(), []driver.Settlement{{Handle: letter.Handle}}); err != nil {
				t.Error(err)
			}
		}
	})
}

// A subscription that another program created without raw delivery brings SNS's own JSON; its content is the message,
// also as a dead letter.
func TestEnvelopedNotifications(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := driver.Channel{Exchange: "news", Queue: "a", Ordered: ordered}
			w.ensure(owner(ch))
			sub := w.server.SNS().Topics()[0].Subscriptions[0].ARN
			if _, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
				SubscriptionArn: &sub,
				AttributeName:   aws.String("RawMessageDelivery"), AttributeValue: aws.String("false"),
			}); err != nil {
				t.Fatal(err)
			}
			in := &sns.PublishInput{
				TopicArn: &w.server.SNS().Topics()[0].ARN, Message: aws.String("from afar"), Subject: aws.String("s"),
				MessageAttributes: map[string]snstypes.MessageAttributeValue{
					"routing_key": {DataType: aws.String("String"), StringValue: aws.String("A")},
					"raw":         {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}},
				},
			}
			if ordered {
				in.MessageGroupId, in.MessageDeduplicationId = aws.String("ada"), aws.String("1")
			}
			if _, err := w.sns.Publish(w.Context(), in); err != nil {
				t.Fatal(err)
			}
			w.send(w.sender(driver.Channel{Exchange: "news", Ordered: ordered}), driver.Message{
				Body: []byte{0, 1}, OrderKey: "bob the builder", RoutingKey: "B",
				Header: []driver.Header{{Name: "locale", Value: "de"}},
			})
			r := w.receiver(ch, driver.Filter{})
			check := func(ds []driver.Delivery) {
				t.Helper()
				for _, d := range ds {
					switch d.RoutingKey {
					case "A":
						if string(d.Body) != "from afar" || headers(d)["raw"] != "AP8=" || d.Err != nil ||
							ordered && d.OrderKey != "ada" {
							t.Errorf("received %q, key %q, headers %v, %v", d.Body, d.OrderKey, d.Header, d.Err)
						}
					case "B":
						if string(d.Body) != "\x00\x01" || headers(d)["locale"] != "de" || d.Err != nil ||
							ordered && d.OrderKey != "bob the builder" {
							t.Errorf("received %q, key %q, headers %v, %v", d.Body, d.OrderKey, d.Header, d.Err)
						}
					default:
						t.Errorf("received %q with routing key %q", d.Body, d.RoutingKey)
					}
				}
			}
			ds := w.receive(r, 2)
			check(ds)
			w.reject(r, "no", ds...)
			letters := w.receive(w.receiver(dead(ch), driver.Filter{}), 2)
			check(letters)
			for _, l := range letters {
				if l.Origin.Death.Error != "no" || ordered && l.Origin.OrderKey != l.OrderKey {
					t.Errorf("the dead letter's origin is %+v, its key %q", l.Origin, l.OrderKey)
				}
			}
		})
	}
}

// Without a store a pointer of Amazon's extended clients is rejected, alone, however it was sent. As for those clients,
// only the attribute decides; a body that is similar to a pointer is a body.
func TestPointersAreRejectedWithoutAStore(t *testing.T) {
	pointer := `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"large","s3Key":"a/b"}]`
	for _, raw := range []bool{true, false} {
		for _, attribute := range []string{"ExtendedPayloadSize", "SQSLargePayloadSize"} {
			inWorld(t, localaws.Options{}, func(w *world) {
				ch := driver.Channel{Exchange: "news", Queue: "a"}
				w.ensure(owner(ch))
				topic := w.server.SNS().Topics()[0]
				if _, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
					SubscriptionArn: &topic.Subscriptions[0].ARN,
					AttributeName:   aws.String("RawMessageDelivery"), AttributeValue: aws.String(fmt.Sprint(raw)),
				}); err != nil {
					t.Fatal(err)
				}
				publish := func(body string, size map[string]snstypes.MessageAttributeValue) {
					if _, err := w.sns.Publish(w.Context(),
						&sns.PublishInput{TopicArn: &topic.ARN, Message: &body, MessageAttributes: size}); err != nil {
						t.Fatal(err)
					}
				}
				size := map[string]snstypes.MessageAttributeValue{attribute: {
					DataType:    aws.String("Number"),
					StringValue: aws.String("300000"),
				}}
				publish(pointer, size)
				publish("other", size)
				publish(pointer, nil)
				r := w.receiver(ch, driver.Filter{})
				check := func(ds []driver.Delivery) (bad []driver.Delivery) {
					t.Helper()
					for _, d := range ds {
						_, marked := headers(d)[attribute]
						if (d.Err != nil) != marked {
							t.Errorf("raw %v, %s: %q is %v", raw, attribute, d.Body, d.Err)
						}
						if !marked {
							continue
						}
						bad = append(bad, d)
						var fault *driver.PayloadError
						if !errors.As(d.Err, &fault) || fault.Fault != driver.PayloadPointer ||
							!strings.Contains(d.Err.Error(), "s3store.Open") || strings.Contains(d.Err.Error(), "a/b") {
							t.Errorf("the reason is %v", d.Err)
						}
					}
					return bad
				}
				bad := check(w.receive(r, 3))
				w.reject(r, "undecodable", bad...)
				check(w.receive(w.receiver(dead(ch), driver.Filter{}), 2))
			})
		}
	}
}
