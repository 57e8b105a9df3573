package snssqs_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// declared is the specification of a topology.
func declared(ch driver.Channel) driver.ChannelSpec {
	s := owner(ch)
	s.Mode, s.Tags = driver.Declare, map[string]string{driver.TagTopology: "shop"}
	return s
}

// differences is a plan, a line for each difference.
func (w *world) differences(specs ...driver.ChannelSpec) (lines []string) {
	w.Helper()
	all, err := w.b.Operations().Plan(w.Context(), specs)
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range all {
		line := fmt.Sprintf("%s %s %s", d.Kind, d.Resource, d.Name)
		if d.Attribute != "" {
			line += fmt.Sprintf(" %s: %q -> %q", d.Attribute, d.From, d.To)
		}
		if d.Risk != "" {
			line += " RISK"
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) differ(what string, want []string, specs ...driver.ChannelSpec) {
	w.Helper()
	if diff := cmp.Diff(want, w.differences(specs...)); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A plan names each resource and attribute that differs, whoever has changed it, and Ensure leaves nothing of it.
func TestPlan(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		whole := declared(driver.Channel{Exchange: "wishlist_events"})
		s := declared(audit)
		s.Filter = driver.Filter{Exact: []string{"A"}}
		w.differ("nothing exists", []string{
			"create topic wishlist_events", "create dead letters wishlist_events--audit_log--dlq",
			"create queue wishlist_events--audit_log",
			"create subscription " + queueARN + "wishlist_events--audit_log",
		}, whole, s)
		provision := func() {
			for _, one := range []driver.ChannelSpec{whole, s} {
				if err := w.b.Ensure(w.Context(), one); err != nil {
					w.Fatal(err)
				}
			}
			w.differ("all is as it should be", nil, whole, s)
		}
		provision()

		url := w.url("wishlist_events--audit_log")
		if _, err := w.sqs.SetQueueAttributes(w.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: map[string]string{"DelaySeconds": "5", "Policy": "", "RedrivePolicy": ""},
		}); err != nil {
			w.Fatal(err)
		}
		if _, err := w.sqs.TagQueue(w.Context(), &sqs.TagQueueInput{
			QueueUrl: &url, Tags: map[string]string{"topology": "other", "color": "red"},
		}); err != nil {
			w.Fatal(err)
		}
		got := w.differences(whole, s)
		for i, part := range []string{
			`DelaySeconds: "5" -> "0"`, `Policy: "" -> "{`, `tag topology: "other" -> "shop"`,
			`RedrivePolicy: "" -> "{`,
		} {
			if len(got) != 4 || !strings.Contains(got[i], part) {
				w.Fatalf("%q: want %s", got, part)
			}
		}
		if !strings.HasSuffix(got[1], "RISK") {
			w.Errorf("a wider policy is no risk: %s", got[1])
		}
		provision()

		s.Retention, s.MaxReceives, s.Encryption, s.Filter.Exact = time.Hour, 7, "alias/own", []string{"B"}
		whole.Encryption = "alias/own"
		got = w.differences(whole, s)
		risks := slices.DeleteFunc(slices.Clone(got), func(l string) bool { return !strings.HasSuffix(l, "RISK") })
		if len(got) != 6 || len(risks) != 5 {
			w.Errorf("%d differences and %d risks: %q", len(got), len(risks), got)
		}
		provision()
		if got := w.attributes("wishlist_events--audit_log")["MessageRetentionPeriod"]; got != "3600" {
			w.Errorf("the retention is %s", got)
		}
	})
}

// Native attributes are created and changed with the queue and the topic, and not with the dead letters. One that the
// specification does not name stays as it is, and a size that is lowered is a risk.
func TestPlanOfNativeAttributes(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		whole, s := declared(driver.Channel{Exchange: audit.Exchange}), declared(audit)
		whole.Native = map[string]string{"TracingConfig": "Active"}
		s.Native = map[string]string{"MaximumMessageSize": "4096", "ReceiveMessageWaitTimeSeconds": "20"}
		provision := func() {
			w.Helper()
			for _, one := range []driver.ChannelSpec{whole, s} {
				if err := w.b.Ensure(w.Context(), one); err != nil {
					w.Fatal(err)
				}
			}
			w.differ("all is as it should be", nil, whole, s)
		}
		provision()
		size := w.attributes("wishlist_events--audit_log--dlq")["MaximumMessageSize"]
		if size != "1048576" {
			w.Errorf("the dead letters have a size of %s", size)
		}
		whole.Native = map[string]string{"DisplayName": "Shop"}
		s.Native = map[string]string{"MaximumMessageSize": "2048"}
		w.differ("other attributes", []string{
			`change topic wishlist_events DisplayName: "" -> "Shop"`,
			`change queue wishlist_events--audit_log MaximumMessageSize: "4096" -> "2048" RISK`,
		}, whole, s)
		provision()
		if wait := w.attributes("wishlist_events--audit_log")["ReceiveMessageWaitTimeSeconds"]; wait != "20" {
			w.Errorf("an attribute that is not named any more is %s", wait)
		}
		read, err := w.b.Operations().Specs(w.Context(), []driver.Channel{whole.Channel, audit})
		if err != nil || len(read[0].Native) != 2 || len(read[1].Native) != 2 {
			w.Errorf("the specifications of what exists: %+v, %v", read, err)
		}
	})
}

// What Godwit has not created is foreign, and what has another order is replaced by a person. Ensure refuses both.
func TestPlanOfWhatCannotBeChanged(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		in := &sqs.CreateQueueInput{QueueName: aws.String("orders")}
		if _, err := w.sqs.CreateQueue(w.Context(), in); err != nil {
			w.Fatal(err)
		}
		if _, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("news")}); err != nil {
			w.Fatal(err)
		}
		foreign := declared(orders)
		w.differ("a queue of others", []string{"create dead letters orders--dlq", "foreign queue orders"}, foreign)
		if err := w.b.Ensure(w.Context(), foreign); driver.ClassOf(err) != driver.Permanent {
			w.Errorf("provision a queue of others: %v", err)
		}
		w.differ("a topic of others", []string{"foreign topic news"}, declared(driver.Channel{Exchange: "news"}))
		if err := w.b.Ensure(w.Context(), owner(driver.Channel{Queue: "bills"})); err != nil {
			w.Fatal(err)
		}
		turned := declared(driver.Channel{Queue: "bills", Ordered: true})
		w.differ("a queue of another order", []string{
			`replace dead letters bills--dlq.fifo Ordered: "bills--dlq" -> "bills--dlq.fifo" RISK`,
		}, turned)
		if err := w.b.Ensure(w.Context(), turned); driver.ClassOf(err) != driver.Permanent {
			w.Errorf("provision a queue with another order: %v", err)
		}
	})
}

// A consumer leaves what a topology has declared, and logs once what differs. ProvisionDeclare changes it.
func TestConsumersLeaveWhatIsDeclared(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		s := declared(audit)
		s.Filter = driver.Filter{Exact: []string{"A"}}
		for _, one := range []driver.ChannelSpec{declared(driver.Channel{Exchange: audit.Exchange}), s} {
			if err := w.b.Ensure(w.Context(), one); err != nil {
				w.Fatal(err)
			}
		}
		var log bytes.Buffer
		b := w.open(snssqs.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		consumer := owner(audit)
		consumer.Delay, consumer.MaxReceives, consumer.Filter = time.Minute, 50, driver.Filter{Exact: []string{"B"}}
		for range 3 {
			if err := b.Ensure(w.Context(), consumer); err != nil {
				w.Fatal(err)
			}
			w.differ("after a consumer's start", nil, s)
		}
		for _, part := range []string{
			"DelaySeconds of queue", "FilterPolicy of subscription", "topology=shop", "RedrivePolicy of queue",
		} {
			if n := strings.Count(log.String(), part); n != 1 {
				w.Errorf("the log says %d times %q:\n%s", n, part, &log)
			}
		}
		r, err := b.Receiver(w.Context(), audit, driver.ReceiverOptions{Concurrency: 1})
		if err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Hour) // of checks of the subscription
		w.differ("after an hour", nil, s)
		if err := r.Close(w.Context()); err != nil {
			w.Error(err)
		}
		consumer.Mode = driver.Declare
		if err := b.Ensure(w.Context(), consumer); err != nil {
			w.Fatal(err)
		}
		if got := w.differences(s); len(got) != 3 {
			w.Errorf("a consumer that declares has changed %q", got)
		}
	})
}

// What is wanted is what Ensure makes, attribute by attribute.
func TestWanted(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		b := w.open(snssqs.Options{Namespace: "prod"})
		ledger := driver.Channel{Exchange: "ledger", Queue: "books", Ordered: true}
		whole := declared(driver.Channel{Exchange: "ledger", Ordered: true})
		s := declared(ledger)
		s.Filter, s.Delay, s.Retention = driver.Filter{Prefix: []string{"A"}}, time.Minute, time.Hour
		s.Encryption, s.HighThroughput, whole.HighThroughput = "alias/own", true, true
		specs := []driver.ChannelSpec{whole, s, declared(orders)}
		wanted, err := b.Operations().Wanted(specs, func(resource, name string) string {
			return map[string]string{"queue": queueARN, "topic": topicARN}[resource] + name
		})
		if err != nil || len(wanted) != 6 {
			t.Fatalf("%+v, %v", wanted, err)
		}
		for _, one := range specs {
			if err := b.Ensure(w.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range wanted {
			var is, tags map[string]string
			switch one.Resource {
			case "topic":
				arn := topicARN + one.Name
				out, err := w.sns.GetTopicAttributes(w.Context(), &sns.GetTopicAttributesInput{TopicArn: &arn})
				if err != nil {
					t.Fatal(err)
				}
				is, tags = out.Attributes, one.Tags
			case "subscription":
				out, err := w.sns.ListSubscriptions(w.Context(), &sns.ListSubscriptionsInput{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := w.sns.GetSubscriptionAttributes(w.Context(), &sns.GetSubscriptionAttributesInput{
					SubscriptionArn: out.Subscriptions[0].SubscriptionArn,
				})
				if err != nil {
					t.Fatal(err)
				}
				is = got.Attributes
			default:
				url := w.url(one.Name)
				out, err := w.sqs.ListQueueTags(w.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
				if err != nil {
					t.Fatal(err)
				}
				is, tags = w.attributes(one.Name), out.Tags
			}
			if diff := cmp.Diff(one.Tags, tags); diff != "" {
				t.Errorf("tags of %s %s (-want +got):\n%s", one.Resource, one.Name, diff)
			}
			for name, value := range one.Attributes {
				if one.Resource == "topic" && name == "Policy" && strings.Contains(is[name], "godwitTLS") {
					continue // it also has SNS's own statement
				}
				if is[name] != value {
					t.Errorf("%s %s: %s is %s, and %s is wanted", one.Resource, one.Name, name, is[name], value)
				}
			}
		}
	})
}

// A channel of a mapped topic that does not exist is an error that says so, also when it is only verified.
func TestPlanOfAMappedTopic(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{"wishlist_events.*": {Topic: "legacy"}}})
		s := owner(audit)
		s.Mode = driver.Verify
		err := b.Ensure(w.Context(), s)
		if driver.ClassOf(err) != driver.NotFound || !strings.Contains(err.Error(), "topic legacy: it does not exist") {
			t.Errorf("verify: %v, of class %s", err, driver.ClassOf(err))
		}
		all, err := b.Operations().Plan(w.Context(), []driver.ChannelSpec{declared(audit)})
		if err != nil || len(all) != 1 || all[0].Kind != driver.DiffersForeign || all[0].Name != "legacy" {
			t.Errorf("plan: %+v, %v", all, err)
		}
	})
}
