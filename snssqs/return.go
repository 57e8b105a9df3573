package snssqs

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Return is driver.Operations.Return: dead letters go back to the channel's own queue. No other consumer gets them,
// also on an exchange, because they do not pass the topic.
func (b *Backend) Return(ctx context.Context, dead driver.Channel, _ bool) (driver.Home, error) {
	if err := b.clients.Open(); err != nil {
		return driver.Home{}, err
	}
	home := dead
	home.DeadLetter = false
	if home.Queue == "" {
		return driver.Home{}, client.Permanent("channel %s: an exchange has no dead letters: name one of its queues", dead)
	}
	q, err := b.queueOf(ctx, home)
	if err != nil {
		return driver.Home{}, err
	}
	if err := b.onlySource(ctx, home, q); err != nil {
		return driver.Home{}, err
	}
	to, err := b.queueSender(ctx, home, q)
	if err != nil {
		return driver.Home{}, err
	}
	return driver.Home{Forwarder: to, Address: q.arn()}, nil
}

// onlySource returns an error if the dead letters of a mapped queue are also those of other queues: a message does not
// say from which of them it is. Without the permission to list them, there is no error.
func (b *Backend) onlySource(ctx context.Context, home driver.Channel, q *queue) error {
	if !q.foreign {
		return nil
	}
	dead := home
	dead.DeadLetter = true
	letters, err := b.queueOf(ctx, dead)
	if err != nil {
		return err
	}
	pages := sqs.NewListDeadLetterSourceQueuesPaginator(b.clients.SQS,
		&sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &letters.url})
	for pages.HasMorePages() {
		some, err := pages.NextPage(ctx, letters.at())
		if err = client.Classify(err); driver.ClassOf(err) == driver.Denied {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the queues whose dead letters are in %s: %w", letters.name, err)
		}
		for _, url := range some.QueueUrls {
			if url != q.url {
				return client.Permanent("the dead letters of %s are also those of queue %s, and a message does not say from which "+
					"it is: name the destination of all of them", home, url)
			}
		}
	}
	return nil
}
