package snssqs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// A notice is published with its text and what filters need, also if it is longer than SNS takes, or has a title that
// is no subject.
func TestNotifier(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		topic, err := w.sns.CreateTopic(w.Context(), &sns.CreateTopicInput{Name: aws.String("alerts")})
		if err != nil {
			w.Fatal(err)
		}
		queue, err := w.sqs.CreateQueue(w.Context(), &sqs.CreateQueueInput{QueueName: aws.String("people")})
		if err != nil {
			w.Fatal(err)
		}
		_, err = w.sqs.SetQueueAttributes(w.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: queue.QueueUrl, Attributes: map[string]string{
				"Policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":` +
					`"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN + `people"}]}`,
			},
		})
		if err == nil {
			_, err = w.sns.Subscribe(w.Context(), &sns.SubscribeInput{
				TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String(queueARN + "people"),
			})
		}
		if err != nil {
			w.Fatal(err)
		}
		n, err := w.b.NewNotifier(*topic.TopicArn)
		if err != nil {
			w.Fatal(err)
		}
		long := strings.Repeat("OPENED orders@dlq: 12 dead letters\n", 10_000)
		for _, c := range []struct{ title, text, subject, body string }{
			{"aws: 1 opened", "OPENED orders", `"Subject" : "aws: 1 opened"`, "OPENED orders"},
			{"\nätsch" + strings.Repeat("x", 200), long, `"Subject" : "??tsch`, "more lines, which have no room"},
		} {
			err := n.Notify(w.Context(), &driver.Notice{ID: "id-1", Title: c.title, Text: c.text, Critical: true})
			if err != nil {
				w.Fatal(err)
			}
			out, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: queue.QueueUrl, WaitTimeSeconds: 20,
			})
			if err != nil || len(out.Messages) != 1 {
				w.Fatalf("%v: %d messages", err, len(out.Messages))
			}
			body := strings.ReplaceAll(*out.Messages[0].Body, `":"`, `" : "`)
			for _, want := range []string{c.subject, c.body, "critical", "id-1"} {
				if !strings.Contains(body, want) {
					w.Errorf("no %q in %s", want, body[:min(len(body), 500)])
				}
			}
			_, err = w.sqs.DeleteMessage(w.Context(), &sqs.DeleteMessageInput{
				QueueUrl: queue.QueueUrl, ReceiptHandle: out.Messages[0].ReceiptHandle,
			})
			if err != nil {
				w.Fatal(err)
			}
		}
		w.server.Control("sns.Publish", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "AuthorizationError", Message: "no", Status: 403}}
		})
		err = n.Notify(w.Context(), &driver.Notice{ID: "id-2", Title: "a", Text: "b"})
		if driver.ClassOf(err) != driver.Denied || !strings.Contains(fmt.Sprint(err), "sns:Publish") {
			w.Errorf("denied: %v", err)
		}
	})
}

// The ARN of anything but a standard topic is refused.
func TestNotifierRefuses(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, arn := range []string{
			"", "alerts", queueARN + "alerts", topicARN, topicARN + "alerts.fifo", topicARN + "a:b",
		} {
			if _, err := w.b.NewNotifier(arn); err == nil {
				w.Errorf("%q was taken", arn)
			}
		}
	})
}
