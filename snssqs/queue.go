package snssqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// queue is what is known about an existing queue.
type queue struct {
	name, url, region string
	foreign           bool
	credentials       aws.CredentialsProvider // nil: the backend's
	attributes        map[string]string
}

func (q *queue) arn() string { return q.attributes[string(types.QueueAttributeNameQueueArn)] }

func (q *queue) policy() string { return q.attributes[string(types.QueueAttributeNamePolicy)] }

// maxBytes returns the maximum size of a message, including attributes.
func (q *queue) maxBytes() int {
	n, err := strconv.Atoi(q.attributes[string(types.QueueAttributeNameMaximumMessageSize)])
	if err != nil || n <= 0 {
		return client.MaxBytes
	}
	return n
}

// queueOf looks up the queue of a channel, by its name or by its mapping.
func (b *Backend) queueOf(ctx context.Context, ch driver.Channel) (*queue, error) {
	if r, ok := b.mapped(ch); ok {
		return b.foreignQueue(ctx, ch, r)
	}
	name, err := b.namespace.queue(ch)
	if err != nil {
		return nil, err
	}
	return b.find(ctx, name)
}

// known is the same as queueOf, but asks the service only the first time.
func (b *Backend) known(ctx context.Context, ch driver.Channel) (*queue, error) {
	b.mu.Lock()
	q := b.queues[ch]
	b.mu.Unlock()
	if q != nil {
		return q, nil
	}
	q, err := b.queueOf(ctx, ch)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.queues[ch] = q
	b.mu.Unlock()
	return q, nil
}

// forget makes the next call of known ask the service again, because the queue was found missing.
func (b *Backend) forget(ch driver.Channel) {
	b.mu.Lock()
	delete(b.queues, ch)
	b.mu.Unlock()
}

// find looks up a queue and its attributes. The error for a queue that does not exist is of class NotFound.
func (b *Backend) find(ctx context.Context, name string) (*queue, error) {
	url, err := b.url(ctx, name)
	if err != nil {
		return nil, err
	}
	q := &queue{name: name, url: url}
	return q, b.load(ctx, q)
}

// findTagged is find with the queue's tags, if they are wanted, which are read at the same time as its attributes.
func (b *Backend) findTagged(ctx context.Context, name string, wanted bool) (*queue, map[string]string, error) {
	if !wanted {
		q, err := b.find(ctx, name)
		return q, nil, err
	}
	url, err := b.url(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	q := &queue{name: name, url: url}
	var tags map[string]string
	err = client.Concurrently(2, 2, func(i int) (err error) {
		if i == 0 {
			return b.load(ctx, q)
		}
		tags, err = tagsOf(ctx, b.clients.SQS, q)
		return err
	})
	return q, tags, err
}

func (b *Backend) url(ctx context.Context, name string) (string, error) {
	out, err := b.clients.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", name, client.Failed(err, "sqs:GetQueueUrl"))
	}
	return aws.ToString(out.QueueUrl), nil
}

func (b *Backend) load(ctx context.Context, q *queue) error {
	out, err := b.clients.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	}, q.at())
	if err != nil {
		return fmt.Errorf("queue %s: read its attributes: %w", q.name,
			client.Failed(err, "sqs:GetQueueAttributes"))
	}
	q.attributes = out.Attributes
	return nil
}

// deletedRecently is how long SQS reserves the name of a deleted queue.
const deletedRecently = time.Minute

// create creates a queue with attributes and tags, and reports whether it did; another process may have been first.
func (b *Backend) create(ctx context.Context, name string, attributes, tags map[string]string) (q *queue, made bool,
	err error,
) {
	out, err := b.clients.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: &name, Attributes: attributes,
		Tags: tags,
	})
	var recently *types.QueueDeletedRecently
	if errors.As(err, &recently) {
		return nil, false, &driver.Error{
			Class: driver.Permanent, After: deletedRecently,
			Err: fmt.Errorf("create queue %s: it was deleted less than %v ago; try again in at most %v: %w", name,
				deletedRecently, deletedRecently, err),
		}
	}
	var exists *types.QueueNameExists
	if errors.As(err, &exists) {
		q, err = b.find(ctx, name)
		return q, false, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("create queue %s: %w", name, client.Failed(err, "sqs:CreateQueue"))
	}
	q = &queue{name: name, url: aws.ToString(out.QueueUrl)}
	return q, true, b.load(ctx, q)
}

// change sets those attributes of a queue that differ from the specification; with the mode driver.Declare also those
// whose change may lose messages.
func (b *Backend) change(ctx context.Context, q *queue, wanted map[string]string, mode driver.Mode) error {
	same := sameAttribute
	if mode == driver.Declare {
		same = exactlyAttribute
	}
	differ := map[string]string{}
	for name, value := range wanted {
		if !same(name, q.attributes[name], value) {
			differ[name] = value
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if _, err := b.clients.SQS.SetQueueAttributes(ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: differ}); err != nil {
		return fmt.Errorf("queue %s: set its attributes: %w", q.name,
			client.Failed(err, "sqs:SetQueueAttributes"))
	}
	maps.Copy(q.attributes, differ)
	return nil
}

// sameAttribute compares two values of an attribute as SQS understands them. A policy is compared as JSON. A longer
// retention counts as equal, because lowering it would delete messages; so does a larger maxReceiveCount, because
// lowering it would dead-letter messages that were already received more often, without a reason.
func sameAttribute(name, is, wanted string) bool {
	switch types.QueueAttributeName(name) {
	case types.QueueAttributeNameSqsManagedSseEnabled, types.QueueAttributeNameDeduplicationScope,
		types.QueueAttributeNameFifoThroughputLimit:
		// AWS always returns these attributes. A server that does not is older than they are, and refuses to set them.
		if is == "" {
			return wanted == "true" || wanted == "queue" || wanted == "perQueue" // AWS's defaults
		}
	case types.QueueAttributeNameRedrivePolicy:
		if wanted == "" {
			return is == ""
		}
		a, oka := parseRedrive(is)
		b, okb := parseRedrive(wanted)
		return oka && okb && a.DeadLetterTargetArn == b.DeadLetterTargetArn && a.MaxReceiveCount >= b.MaxReceiveCount
	case types.QueueAttributeNamePolicy:
		return sameJSON(is, wanted)
	case types.QueueAttributeNameMessageRetentionPeriod:
		a, erra := strconv.Atoi(is)
		b, errb := strconv.Atoi(wanted)
		return erra == nil && errb == nil && a >= b
	}
	return strings.EqualFold(is, wanted)
}
