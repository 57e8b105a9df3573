package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
)

func TestSNSQueuePolicyDecidesWhoMaySend(t *testing.T) {
	runTopics(t, "a queue gets nothing from a topic that its policy does not let in", func(f *topics) {
		topic, other := f.topic(false), f.topic(false)
		for name, c := range map[string]struct {
			condition string
			delivered int
		}{
			"no policy":            {"", 0},
			"this topic":           {`{"ArnEquals":{"aws:SourceArn":"` + *topic + `"}}`, 1},
			"topics like this":     {`{"ArnLike":{"aws:SourceArn":"` + *topic + `*"}}`, 1},
			"as a string":          {`{"StringEquals":{"aws:SourceArn":"` + *topic + `"}}`, 1},
			"of this account":      {`{"StringEquals":{"aws:SourceAccount":"` + f.account + `"}}`, 1},
			"over TLS":             {`{"Bool":{"aws:SecureTransport":"true"}}`, 1},
			"another topic":        {`{"ArnEquals":{"aws:SourceArn":"` + *other + `"}}`, 0},
			"of another account":   {`{"StringEquals":{"aws:SourceAccount":"999999999999"}}`, 0},
			"this and another":     {`{"ArnEquals":{"aws:SourceArn":["` + *other + `","` + *topic + `"]}}`, 1},
			"any topic whatsoever": {`{}`, 1},
		} {
			q := f.closedInbox(false)
			if c.condition != "" {
				q.allow(c.condition)
			}
			sub := f.subscribe(topic, q, asRaw())
			f.publish(&sns.PublishInput{TopicArn: topic, Message: &name})
			if arrived := len(q.receive(1)); arrived != c.delivered {
				f.Errorf("%s: %d messages, want %d", name, arrived, c.delivered)
			}
			_, err := f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub})
			got(f, 0, err)
		}
	})
}

func TestSNSDeadLetterQueue(t *testing.T) {
	runTopics(t, "what a queue does not take goes to the subscription's dead-letter queue, as it is", func(f *topics) {
		topic, closed, closedDead := f.topic(false), f.closedInbox(false), f.closedInbox(false)
		gone, dead := f.inbox(false), f.inbox(false)
		redrive := func(q *inbox) string { return `{"deadLetterTargetArn":"` + q.arn + `"}` }
		f.subscribe(topic, closed, asRaw("RedrivePolicy", redrive(dead)))
		f.subscribe(topic, gone, map[string]string{"RedrivePolicy": redrive(dead)})
		f.subscribe(topic, f.closedInbox(false), asRaw("RedrivePolicy", redrive(closedDead)))
		f.subscribe(topic, f.closedInbox(false), nil)
		_, err := f.world.sqs.DeleteQueue(f.ctx, &sqs.DeleteQueueInput{QueueUrl: &gone.url})
		got(f, 0, err)
		f.publish(&sns.PublishInput{
			TopicArn: topic, Message: aws.String("m"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"n": {DataType: aws.String("Number"), StringValue: aws.String("111")},
				"b": {DataType: aws.String("Binary"), BinaryValue: []byte{2, 3, 4}},
			},
		})
		arrived := dead.take(2)
		if arrived[0].Body != "m" {
			arrived[0], arrived[1] = arrived[1], arrived[0]
		}
		want := arrival{Body: "m", Attributes: map[string]string{"n": "Number 111", "b": "Binary \x02\x03\x04"}}
		if diff := cmp.Diff(want, arrived[0]); diff != "" {
			f.Errorf("raw: %s", diff)
		}
		body := decodedJSON(f, arrived[1].Body).(map[string]any)
		if body["Message"] != "m" || body["Type"] != "Notification" || arrived[1].Attributes != nil {
			f.Errorf("enveloped: %v", arrived[1])
		}
		closedDead.take(0)
		if f.local == nil {
			return
		}
		var reasons []string
		for _, failure := range f.local.SNS().Failures() {
			reasons = append(reasons,
				fmt.Sprint(failure.DeadLetterQueue != "", " ",
					strings.Contains(failure.Reason, `"aws:SourceArn":"`+*topic+`"`)))
		}
		// The second failed because its queue does not exist, not because a statement is missing.
		if diff := cmp.Diff([]string{"true true", "true false", "false true", "false true"}, reasons); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSRawDeliveryOfElevenAttributesIsDropped(t *testing.T) {
	runTopics(t, "ten is what an SQS message carries", func(f *topics) {
		topic, bare, enveloped := f.topic(false), f.inbox(false), f.inbox(false)
		f.subscribe(topic, bare, asRaw())
		f.subscribe(topic, enveloped, nil)
		attributes := map[string]types.MessageAttributeValue{}
		for i := range 11 {
			attributes[fmt.Sprint("a", i)] = types.MessageAttributeValue{
				DataType:    aws.String("String"),
				StringValue: aws.String("v"),
			}
		}
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageAttributes: attributes})
		enveloped.take(1)
		bare.take(0)
	})
}

func TestSNSFiltersDecideWhoGetsAMessage(t *testing.T) {
	runTopics(t, "by attributes and by body, in batches too, at once when changed", func(f *topics) {
		topic := f.topic(false)
		text := func(v string) map[string]types.MessageAttributeValue {
			return map[string]types.MessageAttributeValue{"k": {DataType: aws.String("String"), StringValue: &v}}
		}
		type message struct {
			body       string
			attributes map[string]types.MessageAttributeValue
		}
		messages := []message{
			{`{"k":"body"}`, nil},
			{`1`, text("MOBILE.APPLE")},
			{`2`, text("mobile.apple")},
			{`3`, text("10.0.0.7")},
			{`4`, map[string]types.MessageAttributeValue{"k": {
				DataType:    aws.String("Number"),
				StringValue: aws.String("5.0"),
			}}},
			{`5`, map[string]types.MessageAttributeValue{"k": {
				DataType:    aws.String("String.Array"),
				StringValue: aws.String(`["x","MOBILE.APPLE"]`),
			}}},
			{`6`, map[string]types.MessageAttributeValue{"k": {
				DataType:    aws.String("Binary"),
				BinaryValue: []byte("MOBILE.APPLE"),
			}}},
			{`7`, map[string]types.MessageAttributeValue{"other": {
				DataType:    aws.String("String"),
				StringValue: aws.String("x"),
			}}},
		}
		cases := []struct {
			scope, policy string
			want          string // the bodies that pass, without their leading {
		}{
			{"MessageAttributes", `{"k":["MOBILE.APPLE"]}`, "15"},
			{"MessageAttributes", `{"k":[{"prefix":"MOBILE."}]}`, "15"},
			{"MessageAttributes", `{"k":[{"suffix":".apple"}]}`, "2"},
			{"MessageAttributes", `{"k":[{"equals-ignore-case":"Mobile.Apple"}]}`, "125"},
			{"MessageAttributes", `{"k":[{"anything-but":"MOBILE.APPLE"}]}`, "2345"},
			{"MessageAttributes", `{"k":[{"anything-but":["MOBILE.APPLE","x"]}]}`, "234"},
			{"MessageAttributes", `{"k":[{"anything-but":{"prefix":"MOBILE"}}]}`, "2345"},
			{"MessageAttributes", `{"k":[{"anything-but":[5]}]}`, "1235"},
			{"MessageAttributes", `{"k":[{"numeric":["=",5]}]}`, "4"},
			{"MessageAttributes", `{"k":[{"numeric":[">",4.9,"<=",5]}]}`, "4"},
			{"MessageAttributes", `{"k":[{"exists":true}]}`, "12345"},
			{"MessageAttributes", `{"k":[{"exists":false}]}`, "67"},
			{"MessageAttributes", `{"k":[{"cidr":"10.0.0.0/24"}]}`, "3"},
			{"MessageAttributes", `{"$or":[{"k":["10.0.0.7"]},{"other":["x"]}]}`, "37"},
			{"MessageBody", `{"k":["body"]}`, "{"},
			{"MessageBody", `{"k":[{"exists":false}]}`, ""},
		}
		inboxes := make([]*inbox, len(cases))
		for i, c := range cases {
			inboxes[i] = f.inbox(false)
			f.subscribe(topic, inboxes[i], asRaw("FilterPolicyScope", c.scope, "FilterPolicy", c.policy))
		}
		var entries []types.PublishBatchRequestEntry
		for i, m := range messages {
			e := posting(fmt.Sprint(i), m.body)
			e.MessageAttributes = m.attributes
			entries = append(entries, e)
			f.publish(&sns.PublishInput{TopicArn: topic, Message: &m.body, MessageAttributes: m.attributes})
		}
		_, err := f.batch(topic, entries...)
		got(f, 0, err)
		for i, c := range cases {
			counts := map[string]int{}
			for _, body := range inboxes[i].bodies(2 * len(c.want)) {
				counts[body[:1]]++
			}
			want := map[string]int{}
			for _, first := range c.want {
				want[string(first)] = 2
			}
			if diff := cmp.Diff(want, counts); diff != "" {
				f.Errorf("%s: %s", c.policy, diff)
			}
		}
		if f.local == nil {
			return // on AWS a changed policy may take fifteen minutes
		}
		q := f.inbox(false)
		sub := f.subscribe(topic, q, asRaw("FilterPolicy", `{"k":["x"]}`))
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		q.take(0)
		got(f, 0, f.setSubscription(sub, "FilterPolicy", "{}"))
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		q.take(1)
	})
}

func TestSNSFIFOTopic(t *testing.T) {
	runTopics(t, "order, numbers and duplicates", func(f *topics) {
		topic, ordered, standard := f.topic(true), f.inbox(true), f.inbox(false)
		f.subscribe(topic, ordered, asRaw())
		f.subscribe(topic, standard, asRaw())
		send := func(text, group, id string) *sns.PublishOutput {
			return f.publish(&sns.PublishInput{
				TopicArn: topic, Message: &text, MessageGroupId: &group,
				MessageDeduplicationId: &id,
			})
		}
		first := send("one", "g", "1")
		entries := []types.PublishBatchRequestEntry{posting("a", "two"), posting("b", "three")}
		for i := range entries {
			entries[i].MessageGroupId, entries[i].MessageDeduplicationId = aws.String("g"), aws.String(fmt.Sprint("id",
				i))
		}
		batch, err := f.batch(topic, entries...)
		got(f, 0, err)
		numbers := []string{
			*first.SequenceNumber, *batch.Successful[0].SequenceNumber,
			*batch.Successful[1].SequenceNumber,
		}
		for i, n := range numbers {
			if len(n) != 20 || i > 0 && n <= numbers[i-1] {
				f.Errorf("sequence numbers %v", numbers)
			}
		}
		if again := send("another text", "g", "1"); *again.MessageId != *first.MessageId ||
			*again.SequenceNumber != *first.SequenceNumber {
			f.Errorf("a duplicate is answered with %s %s", *again.MessageId, *again.SequenceNumber)
		}
		againBatch, err := f.batch(topic, entries...)
		got(f, 0, err)
		if *againBatch.Successful[1].MessageId != *batch.Successful[1].MessageId {
			f.Error("a duplicate in a batch has another id")
		}
		var want []arrival
		for i, text := range []string{"one", "two", "three"} {
			want = append(want,
				arrival{
					Body: text,
					System: map[string]string{
						"MessageGroupId":         "g",
						"MessageDeduplicationId": []string{"1", "id0", "id1"}[i],
					},
				})
		}
		if diff := cmp.Diff(want, ordered.take(3)); diff != "" {
			f.Error(diff)
		}
		for _, a := range standard.take(3) {
			if a.System != nil {
				f.Errorf("a standard queue got %v", a.System)
			}
		}
		f.pass(5 * time.Minute)
		if later := send("one", "g", "1"); *later.MessageId == *first.MessageId {
			f.Error("still a duplicate after five minutes")
		}
		ordered.take(1)
	})
}

func TestSNSContentBasedDeduplication(t *testing.T) {
	runTopics(t, "the hash of the message stands for an id", func(f *topics) {
		arn, err := f.create(f.fresh()+".fifo",
			map[string]string{"FifoTopic": "true", "ContentBasedDeduplication": "true"})
		topic := got(f, arn, err)
		q := f.inbox(true)
		f.subscribe(topic, q, nil)
		for range 2 {
			f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("Test"), MessageGroupId: aws.String("g")})
		}
		a := q.take(1)[0]
		if want := "532eaabd9574880dbf76b9b8cc00832c20a6ec113d682299550d7a6e0f345e25"; a.System["MessageDeduplicationId"] != want {
			f.Errorf("deduplication id %s", a.System["MessageDeduplicationId"])
		}
		body := decodedJSON(f, a.Body).(map[string]any)
		for _, name := range []string{"SignatureVersion", "Signature", "SigningCertURL"} {
			if _, there := body[name]; there {
				f.Errorf("the envelope of a FIFO topic has %s", name)
			}
		}
		if s, _ := body["SequenceNumber"].(string); len(s) != 20 {
			f.Errorf("sequence number %v", body["SequenceNumber"])
		}
	})
}

func TestSNSFIFODeadLetters(t *testing.T) {
	runTopics(t, "group and deduplication id go along", func(f *topics) {
		topic, q, dead := f.topic(true), f.closedInbox(true), f.inbox(true)
		f.subscribe(topic, q, asRaw("RedrivePolicy", `{"deadLetterTargetArn":"`+dead.arn+`"}`))
		f.publish(&sns.PublishInput{
			TopicArn: topic, Message: aws.String("m"), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: aws.String("d"),
		})
		want := []arrival{{Body: "m", System: map[string]string{"MessageGroupId": "g", "MessageDeduplicationId": "d"}}}
		if diff := cmp.Diff(want, dead.take(1)); diff != "" {
			f.Error(diff)
		}
	})
}
