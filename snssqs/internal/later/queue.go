package later

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// lease hides what was received until it is sent on, hidden for longer, or received again.
	lease = 30 * time.Second
	// skew is the difference to the service's clock from which that counts, because its answers tell whole seconds.
	skew = 2 * time.Second
)

// queue makes the calls about the messages that wait.
type queue struct {
	*estate.Queue
	clients *client.Clients
}

// receive waits for messages, and returns with them how far the clock of this machine is ahead of the service's. The
// wait is never zero: a short poll asks only some of the service's machines.
func (q *queue) receive(ctx context.Context, wait time.Duration) (ms []*wire.Message, ahead time.Duration, err error) {
	asked := time.Now()
	out, err := q.clients.Polls.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.URL, MaxNumberOfMessages: client.MaxBatch, WaitTimeSeconds: int32(wait / time.Second),
		VisibilityTimeout: int32(lease / time.Second), MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}, client.Once, q.At())
	if err != nil {
		return nil, 0, client.Failed(err, "sqs:ReceiveMessage")
	}
	for i := range out.Messages {
		ms = append(ms, &wire.Message{Message: out.Messages[i], Asked: asked})
	}
	if r := client.Ahead(out.ResultMetadata); r.Err == nil && r.Value.Abs() > skew {
		ahead = r.Value
	}
	return ms, ahead, nil
}

// hidden is how many messages of the queue are hidden, about.
func (q *queue) hidden(ctx context.Context) (int64, error) {
	const name = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := q.clients.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.URL, AttributeNames: []types.QueueAttributeName{name},
	}, q.At())
	if err != nil {
		return 0, client.Failed(err, "sqs:GetQueueAttributes")
	}
	return wire.Number(out.Attributes[string(name)]), nil
}

// hide makes messages visible again after their times. A message that could not be hidden is visible when its lease
// ends.
func (q *queue) hide(ctx context.Context, ms []*wire.Message, after func(i int) time.Duration) error {
	a := client.NewBatch("change visibility", len(ms))
	var entries []types.ChangeMessageVisibilityBatchRequestEntry
	for i, m := range ms {
		if m.Settleable(i, "change visibility", a) {
			entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: client.EntryID(i), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: int32(after(i) / time.Second),
			})
		}
	}
	if len(entries) == 0 {
		return a.Err()
	}
	out, err := q.clients.SQS.ChangeMessageVisibilityBatch(ctx,
		&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.URL, Entries: entries}, client.Once, q.At())
	if err != nil {
		return client.Failed(err, "sqs:ChangeMessageVisibility")
	}
	for _, s := range out.Successful {
		a.Accepted(s.Id)
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}

// delete deletes messages that were sent on.
func (q *queue) delete(ctx context.Context, ms []*wire.Message) error {
	a := client.NewBatch("delete", len(ms))
	var entries []types.DeleteMessageBatchRequestEntry
	for i, m := range ms {
		if m.Settleable(i, "delete", a) {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{
				Id: client.EntryID(i), ReceiptHandle: m.ReceiptHandle,
			})
		}
	}
	if len(entries) == 0 {
		return a.Err()
	}
	out, err := q.clients.SQS.DeleteMessageBatch(ctx,
		&sqs.DeleteMessageBatchInput{QueueUrl: &q.URL, Entries: entries}, client.Once, q.At())
	if err != nil {
		return client.Failed(err, "sqs:DeleteMessage")
	}
	for _, s := range out.Successful {
		a.Accepted(s.Id)
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}

// gone reports whether an error says that the queue was deleted.
func gone(err error) bool { return driver.ClassOf(err) == driver.NotFound }
