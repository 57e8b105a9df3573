package snssqs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// The queue of an exchange is removed with its subscription. The exchange is removed last.
func TestRemoveOfAnExchange(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(audit))
		whole := driver.Channel{Exchange: audit.Exchange}
		_, err := w.b.Remove(w.Context(), whole, false)
		if err == nil || !strings.Contains(err.Error(), "wishlist_events--audit_log") {
			t.Errorf("%v", err)
		}
		made := w.calls(func() {
			r, err := w.b.Remove(w.Context(), audit, false)
			if err != nil || len(r.Resources) != 2 || !strings.HasPrefix(r.Resources[0], topicARN+"wishlist_events:") ||
				r.Resources[1] != queueARN+"wishlist_events--audit_log" {
				t.Errorf("%+v, %v", r, err)
			}
		})
		if diff := cmp.Diff(map[string]int{"sns.Unsubscribe": 1, "sqs.DeleteQueue": 1}, changing(made)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r, err := w.b.Remove(w.Context(), whole, false)
		if diff := cmp.Diff([]string{topicARN + "wishlist_events"}, r.Resources); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// What Godwit has not created, what it was told to use, and dead letters of a queue that exists, is refused. Nothing is
// changed then.
func TestRemoveRefuses(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		_, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("foreign")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("news")}); err != nil {
			t.Fatal(err)
		}
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"bills": {Queue: queueARN + "orders"}, "reports.*": {Topic: topicARN + "news"},
		}})
		dead := orders
		dead.DeadLetter = true
		made := w.calls(func() {
			for want, ch := range map[string]driver.Channel{
				"queue foreign does not have the tag": {Queue: "foreign"},
				"topic news does not have the tag":    {Exchange: "news"},
				"is one of Options.Names":             {Queue: "bills"},
				"reports.*: its resource is one":      {Exchange: "reports"},
				"gets the dead letters of orders":     dead,
			} {
				_, err := b.Remove(w.Context(), ch, false)
				if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", ch, err, want)
				}
			}
		})
		if diff := cmp.Diff(map[string]int{}, changing(made)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A denied call names the permission.
func TestRemoveDenied(t *testing.T) {
	for action, permission := range map[string]string{
		"sqs.DeleteQueue": "sqs:DeleteQueue", "sqs.ListQueueTags": "sqs:ListQueueTags",
		"sqs.ListDeadLetterSourceQueues": "sqs:ListDeadLetterSourceQueues", "sns.Unsubscribe": "sns:Unsubscribe",
		"sns.ListSubscriptionsByTopic": "sns:ListSubscriptionsByTopic",
	} {
		inWorld(t, localaws.Options{}, func(w *world) {
			w.ensure(owner(audit))
			w.deny(action)
			_, err := w.b.Remove(w.Context(), audit, false)
			w.denied(err, action, permission)
		})
	}
	inWorld(t, localaws.Options{}, func(w *world) {
		whole := driver.Channel{Exchange: "wishlist_events"}
		w.ensure(driver.ChannelSpec{Channel: whole})
		w.deny("sns.DeleteTopic")
		_, err := w.b.Remove(w.Context(), whole, false)
		w.denied(err, "delete", "sns:DeleteTopic")
		w.deny("sns.ListTagsForResource")
		_, err = w.b.Remove(w.Context(), whole, false)
		w.denied(err, "tags", "sns:ListTagsForResource")
	})
}
