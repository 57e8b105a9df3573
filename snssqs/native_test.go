package snssqs_test

import (
	"strings"
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

const xray = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

// A handler reaches what SQS delivered beside the message: the trace header of AWS X-Ray, and the types of attributes.
func TestWhatSQSDelivered(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		if _, err := w.sqs.SendMessage(w.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(w.url("orders")), MessageBody: aws.String("x"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"n": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
			},
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(xray)},
			},
		}); err != nil {
			t.Fatal(err)
		}
		r := w.receiver(orders, driver.Filter{})
		d := w.receive(r, 1)[0]
		native := r
		var at driver.Provenance
		if !native.As(d.Handle, &at) || at != (driver.Provenance{Trace: xray}) {
			t.Errorf("the provenance is %+v", at)
		}
		var m snssqs.Message
		if !native.As(d.Handle, &m) || m.Queue != "orders" || m.TraceHeader() != xray || m.Topic != "" ||
			*m.MessageAttributes["n"].DataType != "Number.int" {
			t.Errorf("the message is %+v", m)
		}
		delete(m.MessageAttributes, "n")
		if m = (snssqs.Message{}); !native.As(d.Handle, &m) || m.MessageAttributes["n"].StringValue == nil {
			t.Error("the map of the message was not a copy")
		}
		var other string
		if native.As(d.Handle, &other) || native.As(driver.Handle{}, &at) {
			t.Error("an unknown type or a foreign handle was accepted")
		}
	})
}

// In SNS's own JSON, the message also has its topic and its subject.
func TestWhatSNSDelivered(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("news")})
		if err != nil {
			t.Fatal(err)
		}
		w.ensure(owner(orders))
		w.b = w.open(snssqs.Options{EnvelopesFrom: map[string][]string{"orders": {*topic.TopicArn}}})
		w.set("orders", map[string]string{"Policy": `{"Statement":[{"Effect":"Allow","Principal":"*",` +
			`"Action":"sqs:SendMessage","Resource":"` + queueARN + `orders"}]}`})
		if _, err := w.sns.Subscribe(w.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(queueARN + "orders"),
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.sns.Publish(w.Context(), &sns.PublishInput{
			TopicArn: topic.TopicArn, Message: aws.String("x"), Subject: aws.String("a subject"),
		}); err != nil {
			t.Fatal(err)
		}
		r := w.receiver(orders, driver.Filter{})
		d := w.receive(r, 1)[0]
		var m snssqs.Message
		if !r.As(d.Handle, &m) || m.Topic != *topic.TopicArn || m.Subject != "a subject" ||
			!m.Published.Equal(time.Now()) || m.Attributes["ApproximateFirstReceiveTimestamp"] == "" {
			t.Errorf("%+v", m)
		}
		var sdk types.Message
		if !r.As(d.Handle, &sdk) || *sdk.MessageId != d.ID ||
			!strings.Contains(*sdk.Body, "a subject") {
			t.Errorf("the SDK's message is %+v", sdk)
		}
		if string(d.Body) != "x" {
			t.Errorf("the body is %q", d.Body)
		}
	})
}

func TestAddresses(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		b := w.open(snssqs.Options{Namespace: "prod", Names: map[string]snssqs.Resource{
			"legacy": {Queue: queueARN + "Legacy_Queue"}, "news.*": {Topic: topicARN + "Legacy_Topic"},
		}})
		for ch, want := range map[driver.Channel]driver.Address{
			{Queue: "orders"}:                   {System: "aws_sqs", Destination: "prod---orders"},
			{Queue: "orders", DeadLetter: true}: {System: "aws_sqs", Destination: "prod---orders--dlq"},
			{Queue: "legacy"}:                   {System: "aws_sqs", Destination: "Legacy_Queue"},
			{Exchange: "wishes", Ordered: true}: {System: "aws.sns", Destination: "prod---wishes.fifo"},
			{Exchange: "news"}:                  {System: "aws.sns", Destination: "Legacy_Topic"},
			{Exchange: "wishes", Queue: "mine"}: {System: "aws_sqs", Destination: "prod---wishes--mine"},
		} {
			if got := b.Address(ch); got != want {
				t.Errorf("%v is at %+v, want %+v", ch, got, want)
			}
		}
	})
}

// A trace travels in the envelope. To a resource that Godwit did not make, it is an attribute of its own, as other
// headers, for programs that do not know the envelope.
func TestATraceIsAnAttributeForOthers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		theirs := &sqs.CreateQueueInput{QueueName: aws.String("theirs")}
		if _, err := w.sqs.CreateQueue(w.Context(), theirs); err != nil {
			t.Fatal(err)
		}
		w.ensure(owner(orders))
		own := w.b
		others := w.open(snssqs.Options{Names: map[string]snssqs.Resource{"others": {Queue: queueARN + "theirs"}}})
		trace := []driver.Header{{Name: "traceparent", Value: "00-1"}, {Name: "tracestate", Value: "a=b"}}
		for ch, want := range map[driver.Channel][]string{
			{Queue: "others"}: {"traceparent", "tracestate"}, orders: {"godwit"},
		} {
			if w.b = others; ch == orders {
				w.b = own
			}
			w.send(w.sender(ch), driver.Message{Body: []byte("x"), Header: trace})
			r := w.receiver(ch, driver.Filter{})
			d := w.receive(r, 1)[0]
			var m snssqs.Message
			r.As(d.Handle, &m)
			var names []string
			for _, name := range []string{"godwit", "traceparent", "tracestate"} {
				if _, has := m.MessageAttributes[name]; has {
					names = append(names, name)
				}
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("%v (-want +got):\n%s", ch, diff)
			}
			if diff := cmp.Diff(trace, d.Header); diff != "" {
				t.Errorf("%v: headers (-want +got):\n%s", ch, diff)
			}
		}
	})
}
