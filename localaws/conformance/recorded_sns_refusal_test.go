package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

func TestRecordedPhoneRefusals(t *testing.T) {
	runTopics(t, "what is no telephone number (recorded on AWS, 2023-08-25)", func(f *topics) {
		for _, number := range []string{"+1a234", "NAA+15551234567"} {
			_, err := f.sns.Publish(f.ctx, &sns.PublishInput{PhoneNumber: &number, Message: aws.String("m")})
			f.invalid(err, "PhoneNumber Reason: "+number+" is not valid to publish to")
		}
		topic := f.topic(false)
		for _, number := range []string{"NAA+15551234567", "+15--551234567", "+15551234567.", "/+15551234567"} {
			_, err := f.sns.Subscribe(f.ctx,
				&sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("sms"), Endpoint: &number})
			f.refusedAs(err, 400, "InvalidParameter", "Invalid SMS endpoint: "+number)
		}
	})
}

func TestRecordedFilterPolicyRefusals(t *testing.T) {
	runTopics(t, "of Subscribe, with the place in the policy (recorded on AWS, 2024-05-14 and 2024-05-15)",
		func(f *topics) {
			topic, q := f.topic(false), f.inbox(false)
			for _, c := range []struct {
				policy, reason string
				column         int
			}{
				{`{"key":[["value"]]}`, "Match value must be String, number, true, false, or null", 10},
				{`{"key":[{"wrong-operator":true}]}`, "Unrecognized match type wrong-operator", 31},
				{`{"key":[{"suffix":"value","prefix":"value2"}]}`, "Only one key allowed in match expression", 37},
				{`{"key":[{"suffix":null}]}`, "suffix match pattern must be a string", 23},
				{`{"key":[{"numeric":[]}]}`, "Invalid member in numeric match: ]", 22},
				{`{"key":[{"numeric":[1,"<="]}]}`, "Invalid member in numeric match: 1", 22},
				{`{"key":[{"numeric":["=","000"]}]}`, "Value of equals must be numeric", 26},
				{`{"key":[{"numeric":[">",3,"<",1]}]}`, "Bottom must be less than top", 33},
				{`{"key":[{"numeric":[">",20,30]}]}`, "Bad value in numeric range: 30", 30},
				{`{"key":[{"numeric":[">",20,"<",30,"<",50]}]}`, "Too many terms in numeric range expression", 36},
				{`{"key":[{"exists":"no"}]}`, "exists match pattern must be either true or false.", 20},
				{`{"key":[{"anything-but":{"suffix":"test"}}]}`, "Unsupported anything-but pattern: suffix", 36},
			} {
				for _, scope := range []string{"MessageAttributes", "MessageBody"} {
					_, err := f.sns.Subscribe(f.ctx, &sns.SubscribeInput{
						TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &q.arn,
						Attributes: attrs{"FilterPolicy": c.policy, "FilterPolicyScope": scope},
					})
					f.invalid(err,
						fmt.Sprintf("Attributes Reason: FilterPolicy: %s\n at [Source: (String)\"%s\"; line: 1, "+
							"column: %d]", c.reason, c.policy, c.column))
				}
			}
		})
}

func TestRecordedBatchRefusals(t *testing.T) {
	runTopics(t, "of a FIFO topic in AWS's order (localstack/localstack, tests/aws/services/sns/test_sns.snapshot.json, "+
		"test_publish_batch_exceptions, recorded on AWS, 2023-08-24)", func(f *topics) {
		fifo := f.topic(true)
		_, err := f.batch(fifo, posting("1", "no group"))
		f.invalid(err, "The MessageGroupId parameter is required for FIFO topics")
		_, err = f.batch(fifo, posting("1", "same id"), posting("1", "same id"))
		f.refusedAs(err, 400, "BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
		noDefault := posting("1", `{"sqs":"no group either"}`)
		noDefault.MessageStructure = aws.String("json")
		_, err = f.batch(fifo, noDefault)
		f.invalid(err, "Message Structure - No default entry in JSON message body")
	})
}
