package snssqs

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Remove deletes a channel's queue and its subscription, an exchange's topic, or a queue of dead letters. It deletes
// only what has Godwit's tag. SQS reserves the name of a deleted queue for a minute.
func (b *Backend) Remove(ctx context.Context, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	if err := b.clients.Open(); err != nil {
		return r, err
	}
	if _, foreign := b.mapped(ch); foreign {
		return r, client.Permanent("channel %s: its resource is one of Options.Names, and Godwit never deletes it: delete it "+
			"yourself", ch)
	}
	if ch.Queue == "" {
		return b.removeTopic(ctx, ch, dry)
	}
	return b.removeQueue(ctx, ch, dry)
}

func (b *Backend) removeQueue(ctx context.Context, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	depth, err := b.Inspect(ctx, ch)
	if err != nil {
		return r, err
	}
	q, err := b.queueOf(ctx, ch)
	if err != nil {
		return r, err
	}
	if err := b.ownQueue(ctx, ch, q); err != nil {
		return r, err
	}
	r.Messages = depth.All()
	t, subscription, err := b.subscriptionOf(ctx, ch, q)
	if err != nil {
		return r, err
	}
	if subscription != "" {
		r.Resources = append(r.Resources, subscription)
	}
	r.Resources = append(r.Resources, q.arn())
	if dry {
		return r, nil
	}
	// The subscription goes first: a publish to a deleted queue would fail.
	if subscription != "" {
		if _, err := b.clients.SNS.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: &subscription},
			t.at()); err != nil {
			return r, fmt.Errorf("delete subscription %s: %w", subscription,
				client.Failed(err, "sns:Unsubscribe"))
		}
	}
	if _, err := b.clients.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
		return r, fmt.Errorf("delete queue %s: %w", q.name, client.Failed(err, "sqs:DeleteQueue"))
	}
	b.forget(ch)
	return r, nil
}

// ownQueue returns an error if a queue was not created by Godwit, or if other queues reject messages to it.
func (b *Backend) ownQueue(ctx context.Context, ch driver.Channel, q *queue) error {
	tags, err := b.clients.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &q.url})
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.name, client.Failed(err, "sqs:ListQueueTags"))
	}
	if tags.Tags[tagManaged] != managedByGodwit {
		return notOurs(ch, "queue "+q.name)
	}
	var sources []string
	pages := sqs.NewListDeadLetterSourceQueuesPaginator(b.clients.SQS,
		&sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.url})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("queue %s: list the queues whose dead letters it has: %w", q.name,
				client.Failed(err, "sqs:ListDeadLetterSourceQueues"))
		}
		sources = append(sources, names(page.QueueUrls)...)
	}
	if len(sources) > 0 {
		return client.Permanent("channel %s: queue %s gets the dead letters of %s: remove that first", ch, q.name,
			strings.Join(sources, ", "))
	}
	return nil
}

// notOurs is the error for a resource without Godwit's tag.
func notOurs(ch driver.Channel, what string) error {
	return client.Permanent("channel %s: %s does not have the tag %s=%s, so Godwit has not created it: delete it yourself", ch,
		what, tagManaged, managedByGodwit)
}

// subscriptionOf returns the subscription of an exchange's queue, with its topic; "": there is none.
func (b *Backend) subscriptionOf(ctx context.Context, ch driver.Channel, q *queue) (t *topic, arn string, err error) {
	if ch.Exchange == "" || ch.DeadLetter {
		return nil, "", nil
	}
	if t, err = b.topicOf(ctx, ch); err != nil {
		return nil, "", client.Ignore(err, driver.NotFound)
	}
	arn, err = b.subscription(ctx, t, q.arn())
	return t, arn, client.Ignore(err, driver.NotFound)
}

func (b *Backend) removeTopic(ctx context.Context, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	t, err := b.topicOf(ctx, ch)
	if err != nil {
		return r, err
	}
	tags, err := b.topicTags(ctx, t.arn)
	if err != nil {
		return r, err
	}
	switch {
	case tags == nil:
		return r, &driver.Error{Class: driver.Denied, Err: fmt.Errorf("topic %s: its tags cannot be read, and they "+
			"say whether Godwit has created it (it needs permission sns:ListTagsForResource)", t.name)}
	case tags[tagManaged] != managedByGodwit:
		return r, notOurs(ch, "topic "+t.name)
	}
	page, err := b.clients.SNS.ListSubscriptionsByTopic(ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	if err != nil {
		return r, fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
			client.Failed(err, "sns:ListSubscriptionsByTopic"))
	}
	if n := len(page.Subscriptions); n > 0 {
		return r, client.Permanent("channel %s: topic %s has subscriptions, the first is of %s: remove its queues first", ch,
			t.name, aws.ToString(page.Subscriptions[0].Endpoint))
	}
	r.Resources = []string{t.arn}
	if dry {
		return r, nil
	}
	if _, err := b.clients.SNS.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &t.arn}); err != nil {
		return r, fmt.Errorf("delete topic %s: %w", t.name, client.Failed(err, "sns:DeleteTopic"))
	}
	return r, nil
}
