package conformance

import (
	"context"
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// attrs are attributes or tags of a queue.
type attrs = map[string]string

// queue creates a queue for this case and returns its URL.
func (w *world) queue(name string, attributes attrs) *string {
	w.Helper()
	name = w.name(name)
	url := must(w.sqs.CreateQueue(w.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}))(w).QueueUrl
	w.Cleanup(func() {
		if w.local == nil {
			_, _ = w.sqs.DeleteQueue(context.WithoutCancel(w.ctx), &sqs.DeleteQueueInput{QueueUrl: url})
		}
	})
	return url
}

// fifo creates a FIFO queue that de-duplicates by content.
func (w *world) fifo(name string, more attrs) *string {
	w.Helper()
	a := attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
	maps.Copy(a, more)
	return w.queue(name+".fifo", a)
}

// attribute reads one attribute; "": the queue does not have it.
func (w *world) attribute(url *string, name string) string {
	w.Helper()
	out := must(w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeName(name)},
	}))(w)
	return out.Attributes[name]
}

func (w *world) arn(url *string) string { return w.attribute(url, "QueueArn") }

// deadLetters returns a RedrivePolicy.
func (w *world) deadLetters(target *string, max int) attrs {
	w.Helper()
	return attrs{"RedrivePolicy": `{"deadLetterTargetArn":"` + w.arn(target) + `","maxReceiveCount":` +
		strconv.Itoa(max) + `}`}
}

func (w *world) send(url *string, body string, alter ...func(*sqs.SendMessageInput)) *sqs.SendMessageOutput {
	w.Helper()
	in := &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body}
	for _, f := range alter {
		f(in)
	}
	return must(w.sqs.SendMessage(w.ctx, in))(w)
}

// in sends a message in a group of a FIFO queue.
func in(group string) func(*sqs.SendMessageInput) {
	return func(i *sqs.SendMessageInput) { i.MessageGroupId = &group }
}

// dedup sets the MessageDeduplicationId of a message.
func dedup(id string) func(*sqs.SendMessageInput) {
	return func(i *sqs.SendMessageInput) { i.MessageDeduplicationId = &id }
}

// receive receives up to ten messages with all their attributes.
func (w *world) receive(url *string, alter ...func(*sqs.ReceiveMessageInput)) []types.Message {
	w.Helper()
	in := &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}
	for _, f := range alter {
		f(in)
	}
	return must(w.sqs.ReceiveMessage(w.ctx, in))(w).Messages
}

// upTo limits the number of received messages.
func upTo(n int32) func(*sqs.ReceiveMessageInput) {
	return func(i *sqs.ReceiveMessageInput) { i.MaxNumberOfMessages = n }
}

// waiting makes a receive a long poll.
func waiting(seconds int32) func(*sqs.ReceiveMessageInput) {
	return func(i *sqs.ReceiveMessageInput) { i.WaitTimeSeconds = seconds }
}

// hidden sets the visibility timeout of a receive.
func hidden(seconds int32) func(*sqs.ReceiveMessageInput) {
	return func(i *sqs.ReceiveMessageInput) { i.VisibilityTimeout = seconds }
}

// one receives exactly one message.
func (w *world) one(url *string, alter ...func(*sqs.ReceiveMessageInput)) types.Message {
	w.Helper()
	got := w.receive(url, alter...)
	if len(got) != 1 {
		w.Fatalf("received %d messages, want one: %v", len(got), bodies(got))
	}
	return got[0]
}

// back receives exactly one message and makes it visible again at once.
func (w *world) back(url *string, alter ...func(*sqs.ReceiveMessageInput)) types.Message {
	w.Helper()
	m := w.one(url, alter...)
	if err := w.change(url, m, 0); err != nil {
		w.Fatal(err)
	}
	return m
}

// nothing checks that no message can be received.
func (w *world) nothing(url *string, alter ...func(*sqs.ReceiveMessageInput)) {
	w.Helper()
	if got := w.receive(url, alter...); len(got) != 0 {
		w.Errorf("received %v, want nothing", bodies(got))
	}
}

func (w *world) remove(url *string, m types.Message) {
	w.Helper()
	if err := w.removing(url, m.ReceiptHandle); err != nil {
		w.Fatal(err)
	}
}

func (w *world) removing(url, handle *string) error {
	_, err := w.sqs.DeleteMessage(w.ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: handle})
	return err
}

func (w *world) change(url *string, m types.Message, seconds int32) error {
	_, err := w.sqs.ChangeMessageVisibility(w.ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds,
	})
	return err
}

func bodies(messages []types.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, aws.ToString(m.Body))
	}
	return all
}

func str(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

// Error codes as SDKs see them.
const (
	invalidParameter = "InvalidParameterValue"
	missingParameter = "MissingParameter"
	noQueue          = "AWS.SimpleQueueService.NonExistentQueue"
	queueExists      = "QueueAlreadyExists"
	badName          = "InvalidAttributeName"
	badValue         = "InvalidAttributeValue"
	badHandle        = "ReceiptHandleIsInvalid"
	badContents      = "InvalidMessageContents"
	noResource       = "ResourceNotFoundException"
)
