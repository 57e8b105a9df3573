package snssqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
)

// defaultMaxBytes is what SQS takes for a message, and for a batch of them, unless a queue says less.
const defaultMaxBytes = 1 << 20

// queue is what is known of an existing queue.
type queue struct {
	name, url  string
	attributes map[string]string
}

func (q *queue) arn() string { return q.attributes[string(types.QueueAttributeNameQueueArn)] }

// maxBytes is how large a message may be, attributes included.
func (q *queue) maxBytes() int {
	n, err := strconv.Atoi(q.attributes[string(types.QueueAttributeNameMaximumMessageSize)])
	if err != nil || n <= 0 {
		return defaultMaxBytes
	}
	return n
}

// known is find, asking the service only the first time.
func (b *Backend) known(ctx context.Context, name string) (*queue, error) {
	b.mu.Lock()
	q := b.queues[name]
	b.mu.Unlock()
	if q != nil {
		return q, nil
	}
	q, err := b.find(ctx, name)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.queues[name] = q
	b.mu.Unlock()
	return q, nil
}

// forget makes the next known ask again: the queue was found to be gone.
func (b *Backend) forget(name string) {
	b.mu.Lock()
	delete(b.queues, name)
	b.mu.Unlock()
}

// find looks a queue up, with its attributes. One that does not exist is of class NotFound.
func (b *Backend) find(ctx context.Context, name string) (*queue, error) {
	url, err := b.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", name, classify(err))
	}
	q := &queue{name: name, url: *url.QueueUrl}
	return q, b.load(ctx, q)
}

func (b *Backend) load(ctx context.Context, q *queue) error {
	out, err := b.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return fmt.Errorf("queue %s: read its attributes: %w", q.name, classify(err))
	}
	q.attributes = out.Attributes
	return nil
}

// create makes a queue with attributes and tags.
func (b *Backend) create(ctx context.Context, name string, attributes, tags map[string]string) (*queue, error) {
	out, err := b.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes, Tags: tags})
	if err != nil {
		return nil, fmt.Errorf("create queue %s: %w", name, classify(err))
	}
	q := &queue{name: name, url: *out.QueueUrl}
	return q, b.load(ctx, q)
}

// change sets the attributes of a queue that differ from what is wanted.
func (b *Backend) change(ctx context.Context, q *queue, wanted map[string]string) error {
	differ := map[string]string{}
	for name, value := range wanted {
		if !sameAttribute(name, q.attributes[name], value) {
			differ[name] = value
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if _, err := b.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: differ}); err != nil {
		return fmt.Errorf("queue %s: set its attributes: %w", q.name, classify(err))
	}
	for name, value := range differ {
		q.attributes[name] = value
	}
	return nil
}

// Inspect counts a channel's messages. SQS counts approximately and tells no age.
func (b *Backend) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	if err := b.open(); err != nil {
		return driver.Depth{}, err
	}
	if ch.Queue == "" {
		return driver.Depth{}, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("channel %s: an exchange holds no messages: inspect its queues", ch)}
	}
	name, err := b.namespace.queue(ch)
	if err != nil {
		return driver.Depth{}, err
	}
	q, err := b.find(ctx, name)
	if err != nil {
		return driver.Depth{}, err
	}
	d := driver.Depth{Oldest: -1}
	var errs []error
	for attribute, n := range map[types.QueueAttributeName]*int64{
		types.QueueAttributeNameApproximateNumberOfMessages:           &d.Waiting,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible: &d.InFlight,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed:    &d.Delayed,
	} {
		if *n, err = strconv.ParseInt(q.attributes[string(attribute)], 10, 64); err != nil {
			errs = append(errs, fmt.Errorf("queue %s: %s is no number: %w", name, attribute, err))
		}
	}
	return d, errors.Join(errs...)
}
