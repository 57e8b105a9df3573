package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestSQSPolicy(t *testing.T) {
	const deny = `{"Version":"2012-10-17","Statement":[` +
		`{"Sid":"all","Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"%[1]s"},` +
		`{"Sid":"stop","Effect":"Deny","Principal":"*","Action":["SQS:ReceiveMessage","sqs:Delete*"],"Resource":"%[1]s"}]}`
	run(t, "an explicit Deny in a queue's policy refuses its actions, and no others", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "a")
		kept := w.one(url)
		setPolicy(w, url, fmt.Sprintf(deny, w.arn(url)))
		_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
		w.refused(err, "AccessDenied", "is not authorized to perform: sqs:receivemessage on resource: "+w.arn(url)+
			" with an explicit deny in a resource-based policy")
		_, err = w.sqs.DeleteMessage(w.ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: kept.ReceiptHandle})
		w.refused(err, "AccessDenied", "sqs:deletemessage")
		w.send(url, "b")
		setPolicy(w, url, "")
		if got := w.one(url); *got.Body != "b" {
			w.Errorf("received %s, want b", *got.Body)
		}
	})
	run(t, "a Deny for requests without TLS refuses none with it", func(w *world) {
		url := w.queue("q", nil)
		setPolicy(w, url, fmt.Sprintf(`{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*",`+
			`"Action":"sqs:*","Resource":"%s","Condition":{"Bool":{"aws:SecureTransport":"false"}}}}`, w.arn(url)))
		w.send(url, "a")
		w.one(url)
	})
}

func setPolicy(w *world, url *string, policy string) {
	must(w.sqs.SetQueueAttributes(w.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: url, Attributes: attrs{"Policy": policy},
	}))(w)
}
