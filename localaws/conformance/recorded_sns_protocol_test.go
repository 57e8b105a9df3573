package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
)

// Subscribers of every protocol are accepted, though this server delivers to some of them only.
func TestRecordedProtocols(t *testing.T) {
	subscribe := func(f *topics, topic *string, protocol, endpoint string, attributes attrs, wholeARN bool) string {
		f.Helper()
		out, err := f.sns.Subscribe(f.ctx, &sns.SubscribeInput{
			TopicArn: topic, Protocol: &protocol, Endpoint: &endpoint, Attributes: attributes,
			ReturnSubscriptionArn: wholeARN,
		})
		if err != nil {
			f.Fatalf("%s %s: %v", protocol, endpoint, err)
		}
		return *out.SubscriptionArn
	}
	runTopics(t, "email is pending, and listed so (recorded on AWS, 2025-10-06)", func(f *topics) {
		topic := f.topic(false)
		for _, protocol := range []string{"email", "email-json"} {
			if got := subscribe(f, topic, protocol, "a@example.com", nil, false); got != "pending confirmation" {
				f.Errorf("%s: %s", protocol, got)
			}
		}
		out, err := f.sns.ListSubscriptionsByTopic(f.ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: topic})
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range out.Subscriptions {
			if *s.SubscriptionArn != "PendingConfirmation" || *s.Endpoint != "a@example.com" {
				f.Errorf("listed: %s %s", *s.SubscriptionArn, *s.Endpoint)
			}
		}
		if len(out.Subscriptions) != 2 {
			f.Errorf("%d subscriptions", len(out.Subscriptions))
		}
	})
	runTopics(t, "sms is confirmed at once, with any separators (recorded on AWS, 2025-10-06)", func(f *topics) {
		topic := f.topic(false)
		for _, number := range []string{"+15551234567", "+15/55-123.4567"} {
			arn := subscribe(f, topic, "sms", number, nil, false)
			out, err := f.sns.GetSubscriptionAttributes(f.ctx,
				&sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn})
			if err != nil {
				f.Fatal(err)
			}
			if out.Attributes["PendingConfirmation"] != "false" {
				f.Errorf("%s: %v", number, out.Attributes)
			}
		}
	})
	runTopics(t, "lambda is confirmed, and has no delivery policy (recorded on AWS, 2023-08-24)", func(f *topics) {
		topic := f.topic(false)
		function := "arn:aws:lambda:us-east-1:" + f.account + ":function:f"
		arn := subscribe(f, topic, "lambda", function, nil, false)
		out, err := f.sns.GetSubscriptionAttributes(f.ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn})
		if err != nil {
			f.Fatal(err)
		}
		want := attrs{
			"ConfirmationWasAuthenticated": "true", "PendingConfirmation": "false", "Protocol": "lambda",
			"Endpoint": function, "EffectiveDeliveryPolicy": "", "RawMessageDelivery": "false",
		}
		for name, want := range want {
			if got := out.Attributes[name]; got != want {
				f.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	})
	runTopics(t, "firehose shows its role", func(f *topics) {
		if f.local == nil {
			f.Skip("AWS checks that the stream and the role exist")
		}
		role := "arn:aws:iam::" + f.account + ":role/sns"
		arn := subscribe(f, f.topic(false), "firehose",
			"arn:aws:firehose:us-east-1:"+f.account+":deliverystream/s", attrs{"SubscriptionRoleArn": role}, true)
		out, err := f.sns.GetSubscriptionAttributes(f.ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn})
		if err != nil {
			f.Fatal(err)
		}
		if out.Attributes["SubscriptionRoleArn"] != role {
			f.Errorf("%v", out.Attributes)
		}
		_, err = f.sns.SetSubscriptionAttributes(f.ctx, &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: &arn, AttributeName: aws.String("SubscriptionRoleArn"), AttributeValue: aws.String("x"),
		})
		f.invalid(err, `SubscriptionRoleArn: "x" is not the ARN of a role`)
	})
}
