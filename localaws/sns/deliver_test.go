package sns_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/sns"
)

func TestEnvelopeIsLaidOutAsSNSDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock starts at midnight, 2000-01-01
		f := newFixture(t)
		topic := f.topic("t", nil)
		arn := f.subscribe(topic, "sqs", queue("q"), nil)
		out := f.publish(&awssns.PublishInput{
			TopicArn: topic, Message: aws.String("<é>\u2028"), Subject: aws.String("subject"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"n": {DataType: aws.String("Number"), StringValue: aws.String("1.50")},
				"b": {DataType: aws.String("Binary"), BinaryValue: []byte{2, 3, 4}},
			},
		})
		body := f.queues.bodies("q")[0]
		mask := func(name string) {
			_, rest, _ := strings.Cut(body, `"`+name+`" : "`)
			value, _, _ := strings.Cut(rest, `"`)
			body = strings.Replace(body, value, "*", 1)
		}
		mask("Signature")
		mask("SigningCertURL")
		want := `{
  "Type" : "Notification",
  "MessageId" : "` + *out.MessageId + `",
  "TopicArn" : "arn:aws:sns:us-east-1:000000000000:t",
  "Subject" : "subject",
  "Message" : "<é>` + "\u2028" + `",
  "Timestamp" : "2000-01-01T00:00:00.000Z",
  "SignatureVersion" : "1",
  "Signature" : "*",
  "SigningCertURL" : "*",
  "UnsubscribeURL" : "http://aws/?Action=Unsubscribe&SubscriptionArn=` + arn + `",
  "MessageAttributes" : {
    "b" : {"Type":"Binary","Value":"AgME"},
    "n" : {"Type":"Number","Value":"1.50"}
  }
}`
		if diff := cmp.Diff(want, body); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEnvelopeOfAFIFOTopicHasANumberAndNoSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t.fifo", map[string]string{"FifoTopic": "true"})
		arn := f.subscribe(topic, "sqs", queue("q.fifo"), nil)
		out := f.publish(&awssns.PublishInput{
			TopicArn: topic, Message: aws.String("m"),
			MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
		})
		want := `{
  "Type" : "Notification",
  "MessageId" : "` + *out.MessageId + `",
  "SequenceNumber" : "10000000000000000001",
  "TopicArn" : "arn:aws:sns:us-east-1:000000000000:t.fifo",
  "Message" : "m",
  "Timestamp" : "2000-01-01T00:00:00.000Z",
  "UnsubscribeURL" : "http://aws/?Action=Unsubscribe&SubscriptionArn=` + arn + `"
}`
		got := f.queues.in("q.fifo")
		if diff := cmp.Diff([]sns.QueueMessage{{Body: want, GroupID: "g", DeduplicationID: "d"}}, got); diff != "" {
			t.Error(diff)
		}
		if *out.SequenceNumber != "10000000000000000001" {
			t.Errorf("sequence number %s", *out.SequenceNumber)
		}
	})
}

func TestDuplicatesOfAFIFOTopic(t *testing.T) {
	for _, c := range []struct {
		scope, dedupByText     string
		group2, dedup1, dedup2 string
		text2                  string
		wait                   time.Duration
		delivered              int
		what                   string
	}{
		{"Topic", "false", "g", "d", "d", "m", 0, 1, "same id"},
		{"Topic", "false", "g", "d", "e", "m", 0, 2, "another id"},
		{"Topic", "false", "h", "d", "d", "m", 0, 1, "same id in another group"},
		{"MessageGroup", "false", "h", "d", "d", "m", 0, 2, "same id in another group, scope MessageGroup"},
		{"MessageGroup", "false", "g", "d", "d", "m", 0, 1, "same id in the same group, scope MessageGroup"},
		{"Topic", "true", "g", "", "", "m", 0, 1, "same text"},
		{"Topic", "true", "g", "", "", "n", 0, 2, "another text"},
		{"Topic", "true", "g", "d", "e", "m", 0, 2, "an id counts more than the text"},
		{"Topic", "false", "g", "d", "d", "m", 5*time.Minute - 1, 1, "just within five minutes"},
		{"Topic", "false", "g", "d", "d", "m", 5 * time.Minute, 2, "after five minutes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			topic := f.topic("t.fifo",
				map[string]string{
					"FifoTopic": "true", "ContentBasedDeduplication": c.dedupByText,
					"FifoThroughputScope": c.scope,
				})
			f.subscribe(topic, "sqs", queue("q"), map[string]string{"RawMessageDelivery": "true"})
			send := func(group, dedup, text string) *awssns.PublishOutput {
				in := &awssns.PublishInput{TopicArn: topic, Message: &text, MessageGroupId: &group}
				if dedup != "" {
					in.MessageDeduplicationId = &dedup
				}
				return f.publish(in)
			}
			first := send("g", c.dedup1, "m")
			f.clock.Advance(c.wait)
			second := send(c.group2, c.dedup2, c.text2)
			got := f.queues.in("q")
			if len(got) != c.delivered {
				t.Errorf("%s: %d deliveries, want %d", c.what, len(got), c.delivered)
			}
			same := *first.MessageId == *second.MessageId && *first.SequenceNumber == *second.SequenceNumber
			if same != (c.delivered == 1) {
				t.Errorf("%s: answered %s %s and %s %s", c.what, *first.MessageId, *first.SequenceNumber,
					*second.MessageId, *second.SequenceNumber)
			}
			if got[0].GroupID != "" || got[0].DeduplicationID != "" {
				t.Errorf("a standard queue got group %q, deduplication id %q", got[0].GroupID, got[0].DeduplicationID)
			}
		})
	}
}

func TestFIFOQueuesGetMessagesInTheOrderOfTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t.fifo", map[string]string{"FifoTopic": "true"})
		for _, q := range []string{"a.fifo", "b.fifo"} {
			f.subscribe(topic, "sqs", queue(q), nil)
		}
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				for j := range 5 {
					id := fmt.Sprintf("%d-%d", i, j)
					if _, err := f.client.Publish(f.ctx,
						&awssns.PublishInput{
							TopicArn: topic, Message: &id, MessageGroupId: aws.String("g"),
							MessageDeduplicationId: &id,
						}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		for _, q := range []string{"a.fifo", "b.fifo"} {
			bodies := f.queues.bodies(q)
			if len(bodies) != 100 {
				t.Fatalf("%d messages", len(bodies))
			}
			for i, body := range bodies {
				if want := fmt.Sprintf(`"SequenceNumber" : "%d"`,
					uint64(10_000_000_000_000_000_001)+uint64(i)); !strings.Contains(body, want) {
					t.Fatalf("%s: message %d is %s", q, i, body)
				}
			}
		}
	})
}

func TestFailedDeliveryGoesToTheDeadLetterQueueOrIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		redrive := func(q string) map[string]string {
			return map[string]string{
				"RawMessageDelivery": "true",
				"RedrivePolicy":      `{"deadLetterTargetArn":"` + queue(q) + `"}`,
			}
		}
		f.subscribe(topic, "sqs", queue("closed1"), redrive("dead"))
		f.subscribe(topic, "sqs", queue("closed2"), redrive("closed3"))
		f.subscribe(topic, "sqs", queue("closed4"), nil)
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		if diff := cmp.Diff([]string{"m"}, f.queues.bodies("dead")); diff != "" {
			t.Error(diff)
		}
		var got []string
		for _, failure := range f.service.Failures() {
			got = append(got, failure.Endpoint+" "+failure.DeadLetterQueue+" "+failure.Reason)
		}
		why := "no statement allows " + *topic
		want := []string{
			queue("closed1") + " " + queue("dead") + " " + why,
			queue("closed2") + "  " + why + "; its dead-letter queue " + queue("closed3") + " refused it too: " + why,
			queue("closed4") + "  " + why,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if n := strings.Count(f.log.String(), "level=WARN"); n != 3 {
			t.Errorf("%d warnings in %s", n, f.log)
		}
	})
}

func TestRawDeliveryCarriesTenAttributesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		topic := f.topic("t", nil)
		f.subscribe(topic, "sqs", queue("raw"), map[string]string{"RawMessageDelivery": "true"})
		f.subscribe(topic, "sqs", queue("enveloped"), nil)
		attributes := map[string]types.MessageAttributeValue{}
		for i := range 11 {
			attributes[fmt.Sprint("a", i)] = types.MessageAttributeValue{
				DataType:    aws.String("String"),
				StringValue: aws.String("v"),
			}
		}
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageAttributes: attributes})
		if len(f.queues.in("raw")) != 0 || len(f.queues.in("enveloped")) != 1 {
			t.Errorf("raw %v, enveloped %v", f.queues.in("raw"), f.queues.in("enveloped"))
		}
		delete(attributes, "a10")
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m"), MessageAttributes: attributes})
		if len(f.queues.in("raw")) != 1 || len(f.queues.in("raw")[0].Attributes) != 10 {
			t.Errorf("raw %v", f.queues.in("raw"))
		}
	})
}
