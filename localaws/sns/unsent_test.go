package sns_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssns "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/sns"
)

// What a protocol would have got, by its subscribers, is kept, after their filters; the log says so once a protocol.
func TestUnsentIsKept(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("t", nil)
	for protocol, endpoint := range map[string]string{
		"sms": "+15551234567", "lambda": "arn:aws:lambda:us-east-1:000000000000:function:f",
		"application": "arn:aws:sns:us-east-1:000000000000:endpoint/GCM/a/b",
	} {
		f.subscribe(topic, protocol, endpoint, map[string]string{"FilterPolicy": `{"a":["1"]}`})
	}
	f.subscribe(topic, "firehose", "arn:aws:firehose:us-east-1:000000000000:deliverystream/s",
		map[string]string{"SubscriptionRoleArn": "arn:aws:iam::000000000000:role/r", "RawMessageDelivery": "true"})
	f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("filtered out")})
	f.publish(&awssns.PublishInput{
		TopicArn: topic, Message: aws.String(`{"default":"m<","sms":"short"}`), MessageStructure: aws.String("json"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"a": {DataType: aws.String("String"), StringValue: aws.String("1")},
		},
	})
	got := map[string][]string{}
	for _, m := range f.service.Unsent() {
		got[m.Protocol] = append(got[m.Protocol], m.Body)
	}
	var event struct{ Records []map[string]any }
	if err := json.Unmarshal([]byte(got["lambda"][0]), &event); err != nil {
		t.Fatal(err)
	}
	message, _ := event.Records[0]["Sns"].(map[string]any)
	if message["Message"] != "m<" || message["Subject"] != nil || message["SigningCertUrl"] == nil ||
		event.Records[0]["EventSource"] != "aws:sns" ||
		fmt.Sprint(message["MessageAttributes"]) != "map[a:map[Type:String Value:1]]" {
		t.Errorf("the event of lambda: %s", got["lambda"][0])
	}
	delete(got, "lambda")
	want := map[string][]string{"sms": {"short"}, "application": {"m<"}, "firehose": {"filtered out", "m<"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(f.log.String(), "protocol=sms"); n != 1 {
		t.Errorf("the log names sms %d times:\n%s", n, f.log)
	}
}

// The token that confirms an email subscription is in what its owner would have got.
func TestEmailConfirmation(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("t", nil)
	arn := f.subscribe(topic, "email", "a@example.com", nil)
	f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("too early")})
	asked := f.service.Unsent()
	if len(asked) != 1 || asked[0].Protocol != "email" || asked[0].SubscriptionARN != arn {
		t.Fatalf("unsent: %+v", asked)
	}
	var confirmation map[string]string
	if err := json.Unmarshal([]byte(asked[0].Body), &confirmation); err != nil {
		t.Fatal(err)
	}
	f.visit(confirmation["SubscribeURL"])
	f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String("m"), Subject: aws.String("s")})
	last := f.service.Unsent()[1]
	if last.Subject != "s" || last.Body != "m" || last.Endpoint != "a@example.com" || last.At.IsZero() {
		t.Errorf("unsent: %+v", last)
	}
	f.service.Reset()
	if n := len(f.service.Unsent()); n != 0 {
		t.Errorf("%d unsent messages after Reset", n)
	}
}

// A message for a telephone number is accepted and kept.
func TestPublishToPhone(t *testing.T) {
	f := newFixture(t)
	out, err := f.client.Publish(f.ctx,
		&awssns.PublishInput{PhoneNumber: aws.String("+15551234567"), Message: aws.String("m")})
	if err != nil {
		t.Fatal(err)
	}
	all := f.service.Unsent()
	if len(all) != 1 {
		t.Fatalf("unsent: %+v", all)
	}
	all[0].At = all[0].At.Truncate(0)
	want := sns.Unsent{
		At: all[0].At, Account: account, Region: "us-east-1", Protocol: "sms",
		Endpoint: "+15551234567", MessageID: *out.MessageId, Body: "m",
	}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Error(diff)
	}
}

// What is kept is bounded by number and by bytes; the latest stay.
func TestUnsentIsBounded(t *testing.T) {
	f := newFixture(t)
	topic := f.topic("t", nil)
	f.subscribe(topic, "sms", "+15551234567", nil)
	for i := range 1100 {
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String(fmt.Sprint(i))})
	}
	if all := f.service.Unsent(); len(all) != 1000 || all[0].Body != "100" || all[999].Body != "1099" {
		t.Errorf("%d are kept", len(all))
	}
	large := strings.Repeat("x", 200<<10)
	for range 200 {
		f.publish(&awssns.PublishInput{TopicArn: topic, Message: aws.String(large)})
	}
	bytes := 0
	for _, m := range f.service.Unsent() {
		bytes += len(m.Body)
	}
	if bytes > 16<<20 || bytes < 15<<20 {
		t.Errorf("%d bytes are kept", bytes)
	}
}
