package snssqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

var audit = driver.Channel{Exchange: "wishlist_events", Queue: "audit_log"}

func TestProvisioningOfAQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		s.Lease, s.Delay, s.Tags = 2*time.Minute, 1500*time.Millisecond, map[string]string{
			"owner":    "payments",
			"critical": "true",
		}
		w.ensure(s)
		has := w.attributes("orders")
		for name, want := range map[string]string{
			"VisibilityTimeout": "120", "DelaySeconds": "2", "MessageRetentionPeriod": "1209600",
			"SqsManagedSseEnabled": "true", "KmsMasterKeyId": "",
		} {
			if has[name] != want {
				t.Errorf("%s is %q, want %q", name, has[name], want)
			}
		}
		var redrive struct {
			DeadLetterTargetArn string
			MaxReceiveCount     int
		}
		if err := json.Unmarshal([]byte(has["RedrivePolicy"]), &redrive); err != nil ||
			redrive.DeadLetterTargetArn != queueARN+"orders--dlq" || redrive.MaxReceiveCount != 30 {
			t.Errorf("redrive policy %s, %v", has["RedrivePolicy"], err)
		}
		if dlq := w.attributes("orders--dlq"); dlq["MessageRetentionPeriod"] != "1209600" ||
			dlq["DelaySeconds"] != "0" || !strings.Contains(dlq["Policy"], "aws:SecureTransport") {
			t.Errorf("the dead-letter queue has %v", dlq)
		}
		want := map[string]string{
			"owner": "payments", "critical": "true", "managed-by": "godwit", "channel": "orders",
			"role": "queue",
		}
		if diff := cmp.Diff(want, w.tags("orders")); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		if tags := w.tags("orders--dlq"); tags["role"] != "dead-letters" || tags["channel"] != "orders@dlq" {
			t.Errorf("tags of the dead letters %v", tags)
		}
	})
}

func TestProvisioningOfAnOrderedQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for high, want := range map[bool][2]string{
			false: {"queue", "perQueue"},
			true:  {"messageGroup", "perMessageGroupId"},
		} {
			s := owner(driver.Channel{Queue: fmt.Sprint("q", high), Ordered: true})
			s.HighThroughput = high
			w.ensure(s)
			for _, name := range []string{s.Channel.Queue + ".fifo", s.Channel.Queue + "--dlq.fifo"} {
				a := w.attributes(name)
				if got := [2]string{a["DeduplicationScope"], a["FifoThroughputLimit"]}; got != want ||
					a["FifoQueue"] != "true" {
					t.Errorf("%s has %v, FifoQueue %s; want %v", name, got, a["FifoQueue"], want)
				}
			}
			s.HighThroughput = !high
			w.ensure(s) // and back again
			if a := w.attributes(s.Channel.Queue + ".fifo"); a["DeduplicationScope"] == want[0] {
				t.Errorf("%s still has the scope %s", s.Channel.Queue, want[0])
			}
		}
	})
}

func TestProvisioningTwiceChangesNothing(t *testing.T) {
	for _, ch := range []driver.Channel{
		orders, audit,
		{Queue: "o", Ordered: true},
		{Exchange: "e", Queue: "q", Ordered: true},
	} {
		inWorld(t, localaws.Options{}, func(w *world) {
			s := owner(ch)
			s.Tags = map[string]string{"owner": "payments"}
			if ch.Exchange != "" {
				s.Filter = driver.Filter{Exact: []string{"A"}, Prefix: []string{"B."}}
			}
			w.ensure(s)
			made := changing(w.calls(func() { w.ensure(s) }))
			delete(made, "sns.Subscribe") // idempotent by itself, and its answer says whether the attributes match
			if len(made) > 0 {
				t.Errorf("%s, the second time: %v", ch, made)
			}
			w.b = w.open(snssqs.Options{}) // another process
			if made = changing(w.calls(func() { w.ensure(s) })); len(made) > 1 ||
				len(made) == 1 && made["sns.Subscribe"] != 1 {
				t.Errorf("%s, in another process: %v", ch, made)
			}
		})
	}
}

func TestAnOwnerChangesWhatDiffers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		w.ensure(s)
		w.set("orders", map[string]string{"VisibilityTimeout": "7", "DelaySeconds": "9", "MaximumMessageSize": "2048"})
		if _, err := w.sqs.TagQueue(w.Context(),
			&sqs.TagQueueInput{
				QueueUrl: aws.String(w.url("orders")),
				Tags:     map[string]string{"role": "other", "theirs": "1"},
			}); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // a queue and its dead letters are provisioned at the same time
		tagged := map[string]map[string]string{}
		w.server.Control("sqs.TagQueue", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			raw, _ := json.Marshal(r.Input)
			var in struct {
				QueueURL string `json:"QueueUrl"`
				Tags     map[string]string
			}
			_ = json.Unmarshal(raw, &in)
			mu.Lock()
			tagged[in.QueueURL] = in.Tags
			mu.Unlock()
			return localaws.Outcome{}
		})
		s.Tags = map[string]string{"environment": "prod"}
		w.ensure(s)
		a := w.attributes("orders")
		if a["VisibilityTimeout"] != "30" || a["DelaySeconds"] != "0" || a["MaximumMessageSize"] != "2048" {
			t.Errorf("attributes %v; want ours restored and others unchanged", a)
		}
		if diff := cmp.Diff(map[string]string{"environment": "prod", "role": "queue"},
			tagged[w.url("orders")]); diff != "" {
			t.Errorf("the tags set (-want +got):\n%s", diff)
		}
		if tags := w.tags("orders"); tags["theirs"] != "1" || tags["role"] != "queue" || tags["environment"] != "prod" {
			t.Errorf("tags %v", tags)
		}
		s.NoDeadLetters = true
		w.ensure(s)
		if a := w.attributes("orders"); a["RedrivePolicy"] != "" {
			t.Errorf("without dead letters the redrive policy is %s", a["RedrivePolicy"])
		}
	})
}

func TestRetentionIsNeverLowered(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		for _, c := range []struct{ wish, want time.Duration }{
			{24 * time.Hour, 24 * time.Hour},
			{48 * time.Hour, 48 * time.Hour},
			{time.Hour, 48 * time.Hour},
			{0, 14 * 24 * time.Hour},
		} {
			s.Retention = c.wish
			w.ensure(s)
			if got := w.attributes("orders")["MessageRetentionPeriod"]; got != fmt.Sprint(int(c.want.Seconds())) {
				t.Errorf("requested %v, the queue has %s s, want %v", c.wish, got, c.want)
			}
		}
	})
}

func TestEncryptionInBothDirections(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(audit)
		for i, key := range []string{"", "alias/ours", "alias/other", "", "alias/ours"} {
			s.Encryption = key
			w.ensure(s)
			for _, q := range []string{"wishlist_events--audit_log", "wishlist_events--audit_log--dlq"} {
				a := w.attributes(q)
				if managed := a["SqsManagedSseEnabled"] == "true"; a["KmsMasterKeyId"] != key ||
					managed != (key == "") {
					t.Errorf("step %d, key %q: %s has the key %q and SSE-SQS %s", i, key, q, a["KmsMasterKeyId"],
						a["SqsManagedSseEnabled"])
				}
			}
			if made := changing(w.calls(func() { w.ensure(s) })); made["sqs.SetQueueAttributes"] > 0 {
				t.Errorf("step %d, key %q: set again %v", i, key, made)
			}
		}
	})
}

func TestAProducerNeverChangesAnything(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(audit))
		w.set("orders", map[string]string{"VisibilityTimeout": "7"})
		for _, ch := range []driver.Channel{orders, {Exchange: "wishlist_events"}, audit, dead(orders)} {
			s := driver.ChannelSpec{
				Channel: ch, Delay: time.Minute, Encryption: "alias/mine",
				Tags: map[string]string{"owner": "me"}, Retention: time.Hour,
			}
			if made := changing(w.calls(func() { w.ensure(s) })); len(made) > 0 {
				t.Errorf("a producer to %s made %v", ch, made)
			}
		}
	})
}

func TestNeverMakesNoCall(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, ch := range []driver.Channel{orders, audit, {Exchange: "wishlist_events"}, dead(orders)} {
			for _, own := range []bool{false, true} {
				s := driver.ChannelSpec{Channel: ch, Owner: own, Mode: driver.Never}
				if made := w.calls(func() { w.ensure(s) }); len(made) > 0 {
					t.Errorf("%s: %v", ch, made)
				}
			}
		}
		w.ensure(owner(audit))
		w.b = w.open(snssqs.Options{})
		made := w.calls(func() {
			w.ensure(driver.ChannelSpec{Channel: audit, Owner: true, Mode: driver.Never})
			w.sender(driver.Channel{Exchange: "wishlist_events"})
			r := w.receiver(audit, driver.Filter{})
			time.Sleep(time.Hour) // and no checks of the subscription
			_ = r
		})
		for action := range made {
			if !strings.Contains(action, ".Get") {
				t.Errorf("opening both ends under Never made %v", made)
			}
		}
	})
}

func TestVerifyNamesWhatIsMissingAndWhatDiffers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(audit)
		s.Filter = driver.Filter{Exact: []string{"A"}}
		verify := func(want driver.Class, parts ...string) {
			t.Helper()
			v := s
			v.Mode = driver.Verify
			var err error
			if made := changing(w.calls(func() { err = w.b.Ensure(w.Context(), v) })); len(made) > 0 {
				t.Errorf("verifying made %v", made)
			}
			if len(parts) == 0 && err != nil {
				t.Errorf("verify: %v", err)
			}
			for _, part := range parts {
				if err == nil || !strings.Contains(err.Error(), part) || driver.ClassOf(err) != want {
					t.Errorf("verify: %v, of class %s; want it to say %q and be %s", err, driver.ClassOf(err), part,
						want)
				}
			}
		}
		verify(driver.NotFound, "topic wishlist_events does not exist", "channel wishlist_events.audit_log",
			"let Godwit provision it")
		w.ensure(s)
		verify(0)
		w.set("wishlist_events--audit_log", map[string]string{"VisibilityTimeout": "7", "DelaySeconds": "5"})
		verify(driver.Permanent, `DelaySeconds is "5" and should be "0"`, `VisibilityTimeout is "7" and should be "30"`,
			"queue wishlist_events--audit_log differs")
		w.ensure(s)
		sub := w.server.SNS().Topics()[0].Subscriptions[0].ARN
		for name, value := range map[string]string{
			"RawMessageDelivery": "false",
			"FilterPolicy":       `{"routing_key":["B"]}`,
		} {
			if _, err := w.sns.SetSubscriptionAttributes(w.Context(),
				&sns.SetSubscriptionAttributesInput{
					SubscriptionArn: &sub, AttributeName: &name,
					AttributeValue: &value,
				}); err != nil {
				t.Fatal(err)
			}
		}
		verify(driver.Permanent, `FilterPolicy is "{\"routing_key\":[\"B\"]}"`, `RawMessageDelivery is "false"`,
			"subscription "+sub)
		if _, err := w.sns.Unsubscribe(w.Context(), &sns.UnsubscribeInput{SubscriptionArn: &sub}); err != nil {
			t.Fatal(err)
		}
		verify(driver.NotFound, "subscription", "wishlist_events--audit_log", "let Godwit provision it")
		w.ensure(s)
		if _, err := w.sqs.DeleteQueue(w.Context(),
			&sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("wishlist_events--audit_log--dlq"))}); err != nil {
			t.Fatal(err)
		}
		verify(driver.NotFound, "queue wishlist_events--audit_log--dlq does not exist")
	})
}

func TestAQueueThatWasDeletedRecently(t *testing.T) {
	inWorld(t, localaws.Options{RealisticWaits: true}, func(w *world) {
		w.ensure(owner(orders))
		if _, err := w.sqs.DeleteQueue(w.Context(),
			&sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("orders"))}); err != nil {
			t.Fatal(err)
		}
		err := w.b.Ensure(w.Context(), owner(orders))
		var classified *driver.Error
		var recently *types.QueueDeletedRecently
		if !errors.As(err, &classified) || classified.After <= 0 || classified.After > time.Minute ||
			!errors.As(err, &recently) || !strings.Contains(err.Error(), "orders") {
			t.Fatalf("create again: %v; want QueueDeletedRecently with the time left", err)
		}
		time.Sleep(classified.After)
		w.ensure(owner(orders))
	})
}

// A maxReceiveCount is raised, and never lowered: messages that were received more often would be dead-lettered at
// once.
func TestTheReceiveCountIsNeverLowered(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, step := range []struct{ wish, is int }{{30, 30}, {1000, 1000}, {100, 1000}} {
			spec := owner(orders)
			spec.MaxReceives = step.wish
			w.ensure(spec)
			if a := w.attributes("orders")["RedrivePolicy"]; !strings.Contains(a, fmt.Sprint(step.is)) {
				t.Errorf("with MaxReceives %d the redrive policy is %s, want %d", step.wish, a, step.is)
			}
			if lim := w.receiver(orders, driver.Filter{}).Limits(); lim.MaxReceives != step.is {
				t.Errorf("the limits say %d receives, want %d", lim.MaxReceives, step.is)
			}
		}
	})
}
