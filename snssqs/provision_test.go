package snssqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/google/go-cmp/cmp"
)

var audit = driver.Channel{Exchange: "wishlist_events", Queue: "audit_log"}

func TestProvisioningOfAQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := owner(orders)
		s.Lease, s.Delay, s.Tags = 2*time.Minute, 1500*time.Millisecond, map[string]string{"owner": "payments", "critical": "true"}
		w.ensure(s)
		has := w.attributes("orders")
		for name, want := range map[string]string{
			"VisibilityTimeout": "120", "DelaySeconds": "2", "MessageRetentionPeriod": "1209600", "SqsManagedSseEnabled": "true", "KmsMasterKeyId": "",
		} {
			if has[name] != want {
				t.Errorf("%s is %q, want %q", name, has[name], want)
			}
		}
		var redrive struct {
			DeadLetterTargetArn string
			MaxReceiveCount     int
		}
		if err := json.Unmarshal([]byte(has["RedrivePolicy"]), &redrive); err != nil || redrive.DeadLetterTargetArn != queueARN+"orders--dlq" || redrive.MaxReceiveCount != 30 {
			t.Errorf("redrive policy %s, %v", has["RedrivePolicy"], err)
		}
		if dlq := w.attributes("orders--dlq"); dlq["MessageRetentionPeriod"] != "1209600" || dlq["DelaySeconds"] != "0" || !strings.Contains(dlq["Policy"], "aws:SecureTransport") {
			t.Errorf("the dead-letter queue has %v", dlq)
		}
		want := map[string]string{"owner": "payments", "critical": "true", "managed-by": "godwit", "channel": "orders", "role": "queue"}
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
		for high, want := range map[bool][2]string{false: {"queue", "perQueue"}, true: {"messageGroup", "perMessageGroupId"}} {
			s := owner(driver.Channel{Queue: fmt.Sprint("q", high), Ordered: true})
			s.HighThroughput = high
			w.ensure(s)
			for _, name := range []string{s.Channel.Queue + ".fifo", s.Channel.Queue + "--dlq.fifo"} {
				a := w.attributes(name)
				if got := [2]string{a["DeduplicationScope"], a["FifoThroughputLimit"]}; got != want || a["FifoQueue"] != "true" {
					t.Errorf("%s has %v, FifoQueue %s; want %v", name, got, a["FifoQueue"], want)
				}
			}
			s.HighThroughput = !high
			w.ensure(s) // and back
			if a := w.attributes(s.Channel.Queue + ".fifo"); a["DeduplicationScope"] == want[0] {
				t.Errorf("%s still has the scope %s", s.Channel.Queue, want[0])
			}
		}
	})
}

func TestProvisioningTwiceChangesNothing(t *testing.T) {
	for _, ch := range []driver.Channel{orders, audit, {Queue: "o", Ordered: true}, {Exchange: "e", Queue: "q", Ordered: true}} {
		inWorld(t, localaws.Options{}, func(w *world) {
			s := owner(ch)
			s.Tags = map[string]string{"owner": "payments"}
			if ch.Exchange != "" {
				s.Filter = driver.Filter{Exact: []string{"A"}, Prefix: []string{"B."}}
			}
			w.ensure(s)
			made := changing(w.calls(func() { w.ensure(s) }))
			delete(made, "sns.Subscribe") // idempotent by itself, and answers whether it is as wished
			if len(made) > 0 {
				t.Errorf("%s, the second time: %v", ch, made)
			}
			w.b = w.open(snssqs.Options{}) // another process
			if made = changing(w.calls(func() { w.ensure(s) })); len(made) > 1 || len(made) == 1 && made["sns.Subscribe"] != 1 {
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
		if _, err := w.sqs.TagQueue(w.Context(), &sqs.TagQueueInput{QueueUrl: aws.String(w.url("orders")), Tags: map[string]string{"role": "other", "theirs": "1"}}); err != nil {
			t.Fatal(err)
		}
		var tagged map[string]string
		w.server.Control("sqs.TagQueue", func(_ context.Context, r *localaws.Request) localaws.Outcome {
			raw, _ := json.Marshal(r.Input)
			var in struct{ Tags map[string]string }
			_ = json.Unmarshal(raw, &in)
			tagged = in.Tags
			return localaws.Outcome{}
		})
		s.Tags = map[string]string{"environment": "prod"}
		w.ensure(s)
		a := w.attributes("orders")
		if a["VisibilityTimeout"] != "30" || a["DelaySeconds"] != "0" || a["MaximumMessageSize"] != "2048" {
			t.Errorf("attributes %v; want ours mended and others left alone", a)
		}
		if diff := cmp.Diff(map[string]string{"environment": "prod", "role": "queue"}, tagged); diff != "" {
			t.Errorf("the last tags set (-want +got):\n%s", diff)
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
		for _, c := range []struct{ wish, want time.Duration }{{24 * time.Hour, 24 * time.Hour}, {48 * time.Hour, 48 * time.Hour}, {time.Hour, 48 * time.Hour}, {0, 14 * 24 * time.Hour}} {
			s.Retention = c.wish
			w.ensure(s)
			if got := w.attributes("orders")["MessageRetentionPeriod"]; got != fmt.Sprint(int(c.want.Seconds())) {
				t.Errorf("wished for %v, the queue has %s s, want %v", c.wish, got, c.want)
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
				if managed := a["SqsManagedSseEnabled"] == "true"; a["KmsMasterKeyId"] != key || managed != (key == "") {
					t.Errorf("step %d, key %q: %s has the key %q and SSE-SQS %s", i, key, q, a["KmsMasterKeyId"], a["SqsManagedSseEnabled"])
				}
			}
			if made := changing(w.calls(func() { w.ensure(s) })); made["sqs.SetQueueAttributes"] > 0 {
				t.Errorf("step %d, key %q: set again %v", i, key, made)
			}
		}
	})
}

// The queue's policy lets its own topic in and nobody without TLS, and statements of others stay.
func TestPolicies(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders)) // not of an exchange: no topic may send
		theirs := `{"Sid":"theirs","Effect":"Allow","Principal":{"AWS":"*"},"Action":"sqs:SendMessage","Resource":"` + queueARN + `wishlist_events--audit_log"}`
		if _, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("wishlist_events--audit_log"),
			Attributes: map[string]string{"Policy": `{"Version":"2012-10-17","Id":"x","Statement":` + theirs + `}`}}); err != nil {
			t.Fatal(err)
		}
		w.ensure(owner(audit))
		if sids := w.statements("orders"); len(sids) != 1 || sids["godwitTLS"] == nil {
			t.Errorf("orders has the statements %v", sids)
		}
		for _, q := range []string{"wishlist_events--audit_log", "wishlist_events--audit_log--dlq"} {
			sids := w.statements(q)
			allow := fmt.Sprint(sids["godwitTopic"])
			if sids["godwitTLS"]["Effect"] != "Deny" || !strings.Contains(allow, topicARN+"wishlist_events]") || !strings.Contains(allow, "sns.amazonaws.com") {
				t.Errorf("%s has the statements %v", q, sids)
			}
			if (sids["theirs"] != nil) != !strings.HasSuffix(q, "dlq") {
				t.Errorf("%s: the foreign statement is %v", q, sids["theirs"])
			}
		}
		topic := w.server.SNS().Topics()[0]
		if !strings.Contains(topic.Attributes["Policy"], "aws:SecureTransport") || !strings.Contains(topic.Attributes["Policy"], "__default") {
			t.Errorf("the topic's policy is %s", topic.Attributes["Policy"])
		}
		if topic.Tags["channel"] != "wishlist_events" || topic.Tags["role"] != "exchange" {
			t.Errorf("the topic's tags are %v", topic.Tags)
		}
	})
}

// statements are those of a queue's policy, by Sid.
func (w *world) statements(queue string) map[string]map[string]any {
	w.Helper()
	var policy struct{ Statement []map[string]any }
	if err := json.Unmarshal([]byte(w.attributes(queue)["Policy"]), &policy); err != nil {
		w.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, s := range policy.Statement {
		all[fmt.Sprint(s["Sid"])] = s
	}
	return all
}

// A topic that was left half made gets its policy from the next owner.
func TestAnOwnerSecuresTheTopic(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		if _, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("wishlist_events")}); err != nil {
			t.Fatal(err)
		}
		w.ensure(driver.ChannelSpec{Channel: driver.Channel{Exchange: "wishlist_events"}}) // a producer changes nothing
		if p := w.server.SNS().Topics()[0].Attributes["Policy"]; strings.Contains(p, "SecureTransport") {
			t.Errorf("a producer set the policy %s", p)
		}
		w.ensure(owner(audit))
		if p := w.server.SNS().Topics()[0].Attributes["Policy"]; !strings.Contains(p, "SecureTransport") {
			t.Errorf("the policy is %s", p)
		}
	})
}

func TestAProducerNeverChangesAnything(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(audit))
		w.set("orders", map[string]string{"VisibilityTimeout": "7"})
		for _, ch := range []driver.Channel{orders, {Exchange: "wishlist_events"}, audit, dead(orders)} {
			s := driver.ChannelSpec{Channel: ch, Delay: time.Minute, Encryption: "alias/mine", Tags: map[string]string{"owner": "me"}, Retention: time.Hour}
			if made := changing(w.calls(func() { w.ensure(s) })); len(made) > 0 {
				t.Errorf("a producer to %s made %v", ch, made)
			}
		}
	})
}

// meanwhile does something while the first call of an action is on its way.
func (w *world) meanwhile(action string, f func()) {
	var under atomic.Bool
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		if under.CompareAndSwap(false, true) {
			f()
		}
		return localaws.Outcome{}
	})
}

// A producer that is slower than the queue's owner takes nothing back that the owner set in between.
func TestAProducerThatComesTooLate(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Minute} { // with what the owner wished, and with something else
		inWorld(t, localaws.Options{}, func(w *world) {
			other := w.open(snssqs.Options{})
			w.meanwhile("sqs.CreateQueue", func() {
				if err := other.Ensure(context.Background(), owner(audit)); err != nil {
					t.Error(err)
				}
			})
			w.ensure(driver.ChannelSpec{Channel: audit, Delay: delay})
			if sids := w.statements("wishlist_events--audit_log"); sids["godwitTopic"] == nil {
				t.Errorf("the producer left the statements %v", sids)
			}
			if a := w.attributes("wishlist_events--audit_log"); a["DelaySeconds"] != "0" {
				t.Errorf("the producer set a delay of %s", a["DelaySeconds"])
			}
		})
	}
}

// Two processes with different tags make the same topic at once.
func TestTwoWhoMakeATopicAtOnce(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		a, b := owner(audit), owner(driver.Channel{Exchange: "wishlist_events", Queue: "b"})
		a.Tags, b.Tags = map[string]string{"owner": "a"}, map[string]string{"owner": "b"}
		other := w.open(snssqs.Options{})
		w.meanwhile("sns.CreateTopic", func() {
			if err := other.Ensure(context.Background(), b); err != nil {
				t.Error(err)
			}
		})
		w.ensure(a)
		if subs := w.server.SNS().Topics()[0].Subscriptions; len(subs) != 2 {
			t.Errorf("subscriptions %v", subs)
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
			time.Sleep(time.Hour) // no checks either
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
					t.Errorf("verify: %v, of class %s; want it to say %q and be %s", err, driver.ClassOf(err), part, want)
				}
			}
		}
		verify(driver.NotFound, "topic wishlist_events does not exist", "channel wishlist_events.audit_log", "let Godwit provision it")
		w.ensure(s)
		verify(0)
		w.set("wishlist_events--audit_log", map[string]string{"VisibilityTimeout": "7", "DelaySeconds": "5"})
		verify(driver.Permanent, `DelaySeconds is "5" and should be "0"`, `VisibilityTimeout is "7" and should be "30"`, "queue wishlist_events--audit_log differs")
		w.ensure(s)
		sub := w.server.SNS().Topics()[0].Subscriptions[0].ARN
		for name, value := range map[string]string{"RawMessageDelivery": "false", "FilterPolicy": `{"routing_key":["B"]}`} {
			if _, err := w.sns.SetSubscriptionAttributes(w.Context(), &sns.SetSubscriptionAttributesInput{SubscriptionArn: &sub, AttributeName: &name, AttributeValue: &value}); err != nil {
				t.Fatal(err)
			}
		}
		verify(driver.Permanent, `FilterPolicy is "{\"routing_key\":[\"B\"]}"`, `RawMessageDelivery is "false"`, "subscription "+sub)
		if _, err := w.sns.Unsubscribe(w.Context(), &sns.UnsubscribeInput{SubscriptionArn: &sub}); err != nil {
			t.Fatal(err)
		}
		verify(driver.NotFound, "subscription", "wishlist_events--audit_log", "let Godwit provision it")
		w.ensure(s)
		if _, err := w.sqs.DeleteQueue(w.Context(), &sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("wishlist_events--audit_log--dlq"))}); err != nil {
			t.Fatal(err)
		}
		verify(driver.NotFound, "queue wishlist_events--audit_log--dlq does not exist")
	})
}

func TestAQueueThatWasDeletedRecently(t *testing.T) {
	inWorld(t, localaws.Options{RealisticWaits: true}, func(w *world) {
		w.ensure(owner(orders))
		if _, err := w.sqs.DeleteQueue(w.Context(), &sqs.DeleteQueueInput{QueueUrl: aws.String(w.url("orders"))}); err != nil {
			t.Fatal(err)
		}
		err := w.b.Ensure(w.Context(), owner(orders))
		var classified *driver.Error
		var recently *types.QueueDeletedRecently
		if !errors.As(err, &classified) || classified.After <= 0 || classified.After > time.Minute || !errors.As(err, &recently) || !strings.Contains(err.Error(), "orders") {
			t.Fatalf("create again: %v; want QueueDeletedRecently with the time left", err)
		}
		time.Sleep(classified.After)
		w.ensure(owner(orders))
	})
}

// What is denied names the permission that would help.
func TestDeniedCallsNameThePermission(t *testing.T) {
	for action, permission := range map[string]string{
		"sqs.GetQueueUrl": "sqs:GetQueueUrl", "sqs.CreateQueue": "sqs:CreateQueue", "sqs.GetQueueAttributes": "sqs:GetQueueAttributes",
		"sqs.SetQueueAttributes": "sqs:SetQueueAttributes", "sns.CreateTopic": "sns:CreateTopic", "sns.GetTopicAttributes": "sns:GetTopicAttributes",
		"sns.SetTopicAttributes": "sns:SetTopicAttributes", "sns.Subscribe": "sns:Subscribe", "sqs.ListQueues": "sqs:ListQueues",
		"sts.GetCallerIdentity": "sts:GetCallerIdentity",
	} {
		inWorld(t, localaws.Options{}, func(w *world) {
			w.deny(action)
			w.denied(w.b.Ensure(w.Context(), owner(audit)), action, permission)
		})
	}
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(audit))
		r, s := w.receiver(audit, driver.Filter{}), w.sender(driver.Channel{Exchange: "wishlist_events"})
		w.foreign("wishlist_events--audit_log", "x", nil)
		d := w.receive(r, 1)[0]
		p, err := s.Prepare(w.Context(), &driver.Message{})
		if err != nil {
			t.Fatal(err)
		}
		w.deny("*")
		settle := func(a driver.Action) error {
			return r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: a}})
		}
		_, err = r.Receive(w.Context(), 1, nil)
		w.denied(err, "receive", "sqs:ReceiveMessage")
		w.denied(s.Send(w.Context(), []driver.Prepared{p}), "publish", "sns:Publish")
		w.denied(settle(driver.Done), "done", "sqs:DeleteMessage")
		w.denied(settle(driver.Release), "release", "sqs:ChangeMessageVisibility")
		w.denied(settle(driver.Reject), "reject", "sqs:")
	})
}

func (w *world) deny(action string) {
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
	})
}

func (w *world) denied(err error, what, permission string) {
	w.Helper()
	if driver.ClassOf(err) != driver.Denied || !strings.Contains(fmt.Sprint(err), "permission "+permission) {
		w.Errorf("%s: %v, of class %s; want it to name %s", what, err, driver.ClassOf(err), permission)
	}
}

func TestClashesNameBothNames(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(audit))
		for _, c := range []struct {
			ch    driver.Channel
			parts []string
		}{
			{driver.Channel{Exchange: "orders"}, []string{"orders.*", "queue orders exists"}},
			{driver.Channel{Exchange: "orders", Queue: "q"}, []string{"orders.q", "queue orders exists"}},
			{driver.Channel{Queue: "wishlist_events"}, []string{"channel wishlist_events:", "topic wishlist_events exists", "wishlist_events.*"}},
			{driver.Channel{Queue: "orders", Ordered: true}, []string{"channel orders", "queue orders exists", "Ordered is true"}},
			{driver.Channel{Exchange: "wishlist_events", Ordered: true}, []string{"wishlist_events.*", "topic wishlist_events exists", "Ordered is true"}},
			{driver.Channel{Exchange: "wishlist_events", Queue: "q", Ordered: true}, []string{"wishlist_events.q", "topic wishlist_events exists"}},
		} {
			err := w.b.Ensure(w.Context(), driver.ChannelSpec{Channel: c.ch, Owner: c.ch.Queue != ""})
			for _, part := range c.parts {
				if err == nil || !strings.Contains(err.Error(), part) || driver.ClassOf(err) != driver.Permanent {
					t.Errorf("%s (ordered %v): %v; want it to say %q", c.ch, c.ch.Ordered, err, part)
				}
			}
		}
	})
}

// Both kinds of a topic exist: neither producer nor consumer can mean one of them.
func TestATopicUnderBothNames(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, in := range []*sns.CreateTopicInput{{Name: aws.String("e")}, {Name: aws.String("e.fifo"), Attributes: map[string]string{"FifoTopic": "true"}}} {
			if _, err := w.sns.CreateTopic(w.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		for _, ordered := range []bool{false, true} {
			for _, s := range []driver.ChannelSpec{{Channel: driver.Channel{Exchange: "e", Ordered: ordered}}, owner(driver.Channel{Exchange: "e", Queue: "q", Ordered: ordered})} {
				if err := w.b.Ensure(w.Context(), s); err == nil {
					t.Errorf("%s (ordered %v) was provisioned", s.Channel, ordered)
				}
			}
		}
	})
}

func TestIllegalWishesMakeNoCall(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		many := make([]string, 151)
		for i := range many {
			many[i] = fmt.Sprint("K", i)
		}
		for _, s := range []driver.ChannelSpec{
			{Channel: audit, Filter: driver.Filter{Exact: many}},
			{Channel: audit, Filter: driver.Filter{Exact: many[:100], Prefix: many[:51]}},
			{Channel: audit, Filter: driver.Filter{Exclude: many[:150]}},
			{Channel: audit, Filter: driver.Filter{Exclude: many[:1], Exact: many[:1]}},
			{Channel: audit, Filter: driver.Filter{Prefix: []string{""}}},
			{Channel: orders, Filter: driver.Filter{Exact: []string{"A"}}},
			{Channel: dead(audit), Filter: driver.Filter{Exact: []string{"A"}}},
			{Channel: driver.Channel{Queue: "a--b"}}, {Channel: driver.Channel{Queue: "dlq"}}, {Channel: driver.Channel{Exchange: "a.b"}},
			{Channel: driver.Channel{Queue: strings.Repeat("q", 76)}},
		} {
			s.Owner = true
			var err error
			if made := w.calls(func() { err = w.b.Ensure(w.Context(), s) }); err == nil || len(made) > 0 || driver.ClassOf(err) != driver.Permanent {
				t.Errorf("%s: %v after %v", s.Channel, err, made)
			}
		}
		for _, f := range []driver.Filter{{Exact: many[:150]}, {Exclude: many[:149]}} {
			s := owner(audit)
			s.Filter = f
			w.ensure(s)
		}
	})
}

func TestAFilterWhereThereIsNoneIsRefused(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for _, ch := range []driver.Channel{orders, dead(orders)} {
			if _, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Filter: driver.Filter{Exact: []string{"A"}}}); err == nil {
				t.Errorf("%s was opened with a filter, which would delete what it refuses", ch)
			}
		}
	})
}
