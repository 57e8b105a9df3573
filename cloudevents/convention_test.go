package cloudevents_test

import (
	"maps"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// other is a program without Godwit on the queue of the channel carts.
type other struct {
	*testing.T
	client *sqs.Client
	url    *string
}

func newOther(t *testing.T, server *localaws.Server) *other {
	t.Helper()
	client := sqs.NewFromConfig(config(), func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Transport: server.Transport()}
	})
	q, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("carts")})
	if err != nil {
		t.Fatal(err)
	}
	return &other{t, client, q.QueueUrl}
}

// attributes returns texts as message attributes.
func attributes(texts map[string]string) map[string]types.MessageAttributeValue {
	out := map[string]types.MessageAttributeValue{}
	for name, text := range texts {
		out[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(text)}
	}
	return out
}

// The binary convention on SQS, as docs/codecs.md publishes it: another program sees each attribute of the event as a
// message attribute, and nothing else.
func TestOtherProgramsReadBinaryEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := onServer(t, snssqs.HeadersNative)
		o := newOther(t, server)
		e := full()
		e.Extensions = map[string]any{"partitionkey": "ada"}
		if err := sender(t, producer(t, b), cloudevents.Binary).Send(t.Context(), e, godwit.Message{}); err != nil {
			t.Fatal(err)
		}
		got, err := o.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: o.url, MessageAttributeNames: []string{"All"},
		})
		if err != nil || len(got.Messages) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		texts := map[string]string{}
		for name, v := range got.Messages[0].MessageAttributes {
			if aws.ToString(v.DataType) != "String" {
				t.Errorf("%s is a %s", name, aws.ToString(v.DataType))
			}
			texts[name] = aws.ToString(v.StringValue)
		}
		want := map[string]string{
			"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/carts", "ce_type": "com.example.paid",
			"ce_subject": "cart 7", "ce_time": "2026-11-23T16:00:00.123456789Z", "ce_partitionkey": "ada",
			"ce_datacontenttype": "application/json", "ce_dataschema": "https://example.com/cart.json",
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
		if body := aws.ToString(got.Messages[0].Body); body != string(e.Data) {
			t.Errorf("the body is %s", body)
		}
	})
}

// Handlers read what other programs send by the conventions: a body alone, or attributes.
func TestOtherProgramsSendEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := onServer(t, snssqs.HeadersDefault)
		o := newOther(t, server)
		send := func(body string, texts map[string]string) {
			t.Helper()
			if _, err := o.client.SendMessage(t.Context(), &sqs.SendMessageInput{
				QueueUrl: o.url, MessageBody: &body, MessageAttributes: attributes(texts),
			}); err != nil {
				t.Fatal(err)
			}
		}
		send(`{"specversion":"1.0","id":"1","source":"s","type":"t","data":[1]}`, nil)
		send(`{"specversion":"1.0","id":"1","source":"s","type":"t","data":[1]}`,
			map[string]string{"content-type": "application/cloudevents+json"})
		binary := map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "s", "ce_type": "t"}
		for _, name := range []string{"ce_datacontenttype", "content-type"} {
			typed := map[string]string{name: "application/json"}
			maps.Copy(typed, binary)
			send(`[1]`, typed)
		}
		want := cloudevents.Event{
			ID: "1", Source: "s", Type: "t", DataContentType: "application/json", Data: []byte(`[1]`),
		}
		for _, e := range received(t, b, 4) {
			if diff := cmp.Diff(want, e); diff != "" {
				t.Error(diff)
			}
		}
	})
}
