package localaws_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
)

// The list of a queue's messages has attributes with their types, and bytes that are no text.
func TestListedAttributes(t *testing.T) {
	server, err := localaws.New(&localaws.Options{Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: server.Transport()},
	})
	q, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: q.QueueUrl, MessageBody: aws.String("x"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"n": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
			"b": {DataType: aws.String("Binary"), BinaryValue: []byte{0xff, 0}},
		},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-2-3")},
		},
	}); err != nil {
		t.Fatal(err)
	}
	m := own(t, server, "queues/q/messages")["messages"].([]any)[0].(map[string]any)
	want := map[string]any{
		"n": map[string]any{"type": "Number.int", "text": "7"},
		"b": map[string]any{"type": "Binary", "binary": "/wA="},
	}
	if diff := cmp.Diff(want, m["messageAttributes"]); diff != "" || m["trace"] != "Root=1-2-3" {
		t.Errorf("trace %v, attributes (-want +got):\n%s", m["trace"], diff)
	}
}
