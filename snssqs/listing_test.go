package snssqs_test

import (
	"context"
	"fmt"
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

// A list that is old hides nothing: what is created beside it is noticed, and what was deleted is created again.
func TestAnOldListing(t *testing.T) {
	orders, audit := driver.Channel{Queue: "orders"}, driver.Channel{Exchange: "news", Queue: "audit"}
	listed := func(w *world) *snssqs.Backend {
		w.ensure(owner(orders))
		w.ensure(owner(audit))
		b := w.open(snssqs.Options{})
		if err := b.Ensure(w.Context(), owner(driver.Channel{Queue: "bills"})); err != nil {
			w.Fatal(err)
		}
		return b
	}
	t.Run("deleted", func(t *testing.T) {
		inWorld(t, localaws.Options{}, func(w *world) {
			b := listed(w)
			for _, name := range []string{"orders", "news--audit--dlq"} {
				in := &sqs.DeleteQueueInput{QueueUrl: aws.String(w.url(name))}
				if _, err := w.sqs.DeleteQueue(w.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.sns.DeleteTopic(w.Context(), &sns.DeleteTopicInput{
				TopicArn: aws.String(topicARN + "news"),
			}); err != nil {
				t.Fatal(err)
			}
			for _, ch := range []driver.Channel{orders, audit} {
				if err := b.Ensure(w.Context(), owner(ch)); err != nil {
					t.Error(err)
				}
			}
			news := driver.Channel{Exchange: "news"}
			s, err := b.Sender(w.Context(), news)
			if err != nil {
				t.Fatal(err)
			}
			w.send(s, driver.Message{Body: []byte("x")})
			if n := len(w.receive(w.receiver(audit, driver.Filter{}), 1)); n != 1 {
				t.Errorf("received %d messages of the exchange that was created again", n)
			}
		})
	})
	t.Run("created beside it", func(t *testing.T) {
		inWorld(t, localaws.Options{}, func(w *world) {
			b := listed(w)
			other := driver.Channel{Queue: "mails", Ordered: true}
			w.ensure(owner(other))
			err := b.Ensure(w.Context(), owner(driver.Channel{Queue: "mails"}))
			if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), "exists, so") {
				t.Error(err)
			}
		})
	})
	t.Run("two kinds", func(t *testing.T) {
		inWorld(t, localaws.Options{}, func(w *world) {
			listed(w)
			if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{
				QueueName: aws.String("orders.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
			}); err != nil {
				t.Fatal(err)
			}
			b := w.open(snssqs.Options{})
			err := b.Ensure(w.Context(), owner(orders))
			if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), "exists, so") {
				t.Error(err)
			}
		})
	})
}

// Without a list, names are looked up, and the outcome is the same.
func TestWithoutAListing(t *testing.T) {
	for _, why := range []string{"denied", "more than a page", "not supported"} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				audit, orders := driver.Channel{Exchange: "news", Queue: "audit"}, driver.Channel{Queue: "orders"}
				w.ensure(owner(orders))
				w.ensure(owner(audit))
				if why == "more than a page" {
					for i := range 100 {
						name := fmt.Sprintf("topic-%d", i)
						if _, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: &name}); err != nil {
							t.Fatal(err)
						}
					}
				} else {
					code := map[string]string{"denied": "AccessDenied", "not supported": "InvalidAction"}[why]
					for _, action := range []string{"sqs.ListQueues", "sns.ListTopics"} {
						w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
							return localaws.Outcome{Err: &wire.Error{Status: 400, Code: code, Message: "no"}}
						})
					}
				}
				b := w.open(snssqs.Options{})
				begun := time.Now()
				for _, ch := range []driver.Channel{orders, audit} {
					if err := b.Ensure(w.Context(), owner(ch)); err != nil {
						t.Error(err)
					}
				}
				err := b.Ensure(w.Context(), owner(driver.Channel{Queue: "news"}))
				if err == nil || !strings.Contains(err.Error(), "exists, so") {
					t.Error(err)
				}
				if took := time.Since(begun); took > 0 {
					t.Errorf("it took %v, so calls were repeated", took)
				}
			})
		})
	}
}
