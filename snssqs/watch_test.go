package snssqs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

var mobile = driver.Filter{Prefix: []string{"MOBILE."}}

func filtered(ch driver.Channel) driver.ChannelSpec {
	s := owner(ch)
	s.Filter = mobile
	return s
}

// subscribed checks that a queue is subscribed with its consumer's filter.
func (w *world) subscribed(topic, queue, filter string) {
	w.Helper()
	for _, t := range w.server.SNS().Topics() {
		for _, s := range t.Subscriptions {
			if t.Name != topic || s.Endpoint != queueARN+queue {
				continue
			}
			dlq := queue + "--dlq"
			if fifo, ok := strings.CutSuffix(queue, ".fifo"); ok {
				dlq = fifo + "--dlq.fifo"
			}
			a := s.Attributes
			if a["RawMessageDelivery"] != "true" || a["FilterPolicy"] != filter ||
				a["RedrivePolicy"] != `{"deadLetterTargetArn":"`+queueARN+dlq+`"}` {
				w.Errorf("%s is subscribed to %s with %v, want the filter %q", queue, topic, a, filter)
			}
			return
		}
	}
	w.Errorf("%s is not subscribed to %s", queue, topic)
}

const mobilePolicy = `{"routing_key":[{"prefix":"MOBILE."}]}`

// While a receiver is open, changes of its subscription by other programs are reverted within five minutes.
func TestTheSubscriptionIsCheckedEveryFiveMinutes(t *testing.T) {
	for _, ch := range []driver.Channel{audit, {Exchange: "wishlist_events", Queue: "audit_log", Ordered: true}} {
		inWorld(t, localaws.Options{}, func(w *world) {
			suffix := ""
			if ch.Ordered {
				suffix = ".fifo"
			}
			w.ensure(filtered(ch))
			r := w.receiver(ch, mobile)
			sub := func() *string { return &w.server.SNS().Topics()[0].Subscriptions[0].ARN }
			for name, harm := range map[string]func() error{
				"unsubscribed": func() error {
					_, err := w.sns.Unsubscribe(w.Context(), &sns.UnsubscribeInput{SubscriptionArn: sub()})
					return err
				},
				"another filter": func() error {
					_, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
						SubscriptionArn: sub(),
						AttributeName:   aws.String("FilterPolicy"),
						AttributeValue:  aws.String(`{"routing_key":["X"]}`),
					})
					return err
				},
				"no raw delivery": func() error {
					_, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{
						SubscriptionArn: sub(),
						AttributeName:   aws.String("RawMessageDelivery"), AttributeValue: aws.String("false"),
					})
					return err
				},
				"the topic deleted": func() error {
					_, err := w.sns.DeleteTopic(w.Context(),
						&sns.DeleteTopicInput{TopicArn: &w.server.SNS().Topics()[0].ARN})
					return err
				},
				"topic and queue deleted": func() error {
					_, err := w.sqs.DeleteQueue(w.Context(),
						&sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("wishlist_events--audit_log" + suffix))})
					if err != nil {
						return err
					}
					_, err = w.sns.DeleteTopic(w.Context(),
						&sns.DeleteTopicInput{TopicArn: &w.server.SNS().Topics()[0].ARN})
					return err
				},
			} {
				if err := harm(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				time.Sleep(5*time.Minute + time.Second)
				w.subscribed("wishlist_events"+suffix, "wishlist_events--audit_log"+suffix, mobilePolicy)
			}
			w.send(w.sender(driver.Channel{Exchange: "wishlist_events", Ordered: ch.Ordered}),
				driver.Message{Body: []byte("a"), RoutingKey: "MOBILE.X", OrderKey: "k"})
			w.receive(r, 1)
			made := w.calls(func() { time.Sleep(time.Hour) })
			if n := made["sns.Subscribe"]; n != 12 || len(changing(made)) != 1 {
				t.Errorf("in an hour without changes: %v, want twelve checks that change nothing", made)
			}
		})
	}
}

// A check that fails is repeated, and the receiver continues.
func TestAFailedCheckIsTriedAgain(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(filtered(audit))
		w.receiver(audit, mobile)
		remove := w.server.Control("sns.*", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{
				Code: "ServiceUnavailable", Message: "down", Status: 503,
				Fault: true,
			}}
		})
		time.Sleep(6 * time.Minute)
		remove()
		if _, err := w.sns.Unsubscribe(w.Context(),
			&sns.UnsubscribeInput{SubscriptionArn: &w.server.SNS().Topics()[0].Subscriptions[0].ARN}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		w.subscribed("wishlist_events", "wishlist_events--audit_log", mobilePolicy)
	})
}

// A producer that recreates a lost topic subscribes all our queues of the exchange before it sends. It does not know
// the filters; until they are set again, the consumers discard the messages that do not match.
func TestAProducerReunitesAnExchange(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			suffix := ""
			if ordered {
				suffix = ".fifo"
			}
			a := driver.Channel{Exchange: "e", Queue: "a", Ordered: ordered}
			w.ensure(filtered(a))
			w.ensure(owner(driver.Channel{Exchange: "e", Queue: "b", Ordered: ordered}))
			w.ensure(owner(driver.Channel{Exchange: "e2", Queue: "c", Ordered: ordered})) // of another exchange
			for _, q := range []string{"e--stranger", "e--x--y"} {                        // not ours
				in := &sqs.CreateQueueInput{QueueName: aws.String(q + suffix)}
				if ordered {
					in.Attributes = map[string]string{"FifoQueue": "true"}
				}
				if _, err := w.sqs.CreateQueue(w.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.sns.DeleteTopic(w.Context(),
				&sns.DeleteTopicInput{TopicArn: aws.String(topicARN + "e" + suffix)}); err != nil {
				t.Fatal(err)
			}
			w.b = w.open(snssqs.Options{}) // the producer's process
			made := changing(w.calls(func() {
				w.ensure(driver.ChannelSpec{Channel: driver.Channel{Exchange: "e", Ordered: ordered}})
			}))
			if made["sns.Subscribe"] != 2 ||
				made["sqs.SetQueueAttributes"]+made["sqs.TagQueue"]+made["sqs.CreateQueue"] > 0 {
				t.Errorf("the producer made %v", made)
			}
			w.subscribed("e"+suffix, "e--a"+suffix, "")
			w.subscribed("e"+suffix, "e--b"+suffix, "")
			w.send(w.sender(driver.Channel{Exchange: "e", Ordered: ordered}),
				driver.Message{Body: []byte("1"), RoutingKey: "BOOK"}, driver.Message{
					Body:       []byte("2"),
					RoutingKey: "MOBILE.X",
				})
			r := w.receiver(a, mobile)
			if d := w.receive(r, 1)[0]; string(d.Body) != "2" {
				t.Errorf("received %q past the filter", d.Body)
			}
			time.Sleep(time.Minute)
			if n := w.attributes("e--a" + suffix); n["ApproximateNumberOfMessages"] != "1" { // the one received before
				t.Errorf("%s messages wait, want the refused messages to be deleted", n["ApproximateNumberOfMessages"])
			}
		})
	}
}

// A message that SNS cannot deliver to the queue becomes a dead letter of the channel.
func TestFailedDeliveriesOfTheTopicAreDeadLetters(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			suffix := ""
			if ordered {
				suffix = ".fifo"
			}
			ch := driver.Channel{Exchange: "e", Queue: "a", Ordered: ordered}
			w.ensure(owner(ch))
			w.set("e--a"+suffix, map[string]string{"Policy": ""})
			w.send(w.sender(driver.Channel{Exchange: "e", Ordered: ordered}),
				driver.Message{
					Body: []byte("x"), RoutingKey: "A", OrderKey: "k",
					Header: []driver.Header{{Name: "locale", Value: "de"}},
				})
			d := w.receive(w.receiver(dead(ch), driver.Filter{}), 1)[0]
			if string(d.Body) != "x" || d.RoutingKey != "A" || headers(d)["locale"] != "de" || d.Err != nil ||
				d.Origin == nil || d.Origin.Channel != ch {
				t.Errorf("the dead letter is %q, %q, %v, origin %+v, %v", d.Body, d.RoutingKey, d.Header, d.Origin,
					d.Err)
			}
		})
	}
}
