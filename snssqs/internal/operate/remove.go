package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Remove deletes the queue or the topic of a channel; dry: it only says what it would delete.
func Remove(ctx context.Context, e *estate.Estate, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	if err := e.Clients.Open(); err != nil {
		return r, err
	}
	if _, foreign := e.Mapping(ch); foreign {
		return r, client.Permanent("channel %s: its resource is one of Options.Names, and Godwit never deletes it: delete it "+
			"yourself", ch)
	}
	if ch.Queue == "" {
		return removeTopic(ctx, e, ch, dry)
	}
	return removeQueue(ctx, e, ch, dry)
}

func removeQueue(ctx context.Context, e *estate.Estate, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return r, err
	}
	depth, err := q.Depth()
	if err != nil {
		return r, err
	}
	if err := ownQueue(ctx, e, ch, q); err != nil {
		return r, err
	}
	r.Messages = depth.All()
	t, subscription, err := e.Topics.SubscriptionOf(ctx, ch, q)
	if err != nil {
		return r, err
	}
	if subscription != "" {
		r.Resources = append(r.Resources, subscription)
	}
	r.Resources = append(r.Resources, q.ARN())
	if dry {
		return r, nil
	}
	// The subscription goes first: a publish to a deleted queue would fail.
	if subscription != "" {
		if _, err := e.Clients.SNS.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: &subscription},
			t.At()); err != nil {
			return r, fmt.Errorf("delete subscription %s: %w", subscription, client.Failed(err, "sns:Unsubscribe"))
		}
	}
	if _, err := e.Clients.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.URL}); err != nil {
		return r, fmt.Errorf("delete queue %s: %w", q.Name, client.Failed(err, "sqs:DeleteQueue"))
	}
	e.Queues.Forget(ch)
	return r, nil
}

// ownQueue returns an error if a queue was not created by Godwit, or if other queues reject messages to it.
func ownQueue(ctx context.Context, e *estate.Estate, ch driver.Channel, q *estate.Queue) error {
	tags, err := e.Queues.TagsOf(ctx, q)
	if err != nil {
		return err
	}
	if err := estate.Ours(ch, "queue "+q.Name, tags); err != nil {
		return err
	}
	sources, err := e.Queues.Sources(ctx, q)
	if err != nil {
		return err
	}
	if len(sources) > 0 {
		return client.Permanent("channel %s: queue %s gets the dead letters of %s: remove that first", ch, q.Name,
			strings.Join(estate.NamesIn(sources), ", "))
	}
	return nil
}

func removeTopic(ctx context.Context, e *estate.Estate, ch driver.Channel, dry bool) (r driver.Removed, err error) {
	t, err := e.Topics.Of(ctx, ch)
	if err != nil {
		return r, err
	}
	tags, err := e.Topics.TagsOf(ctx, t)
	if err != nil {
		return r, err
	}
	if err := estate.Ours(ch, "topic "+t.Name, tags); err != nil {
		return r, err
	}
	for one, err := range e.Topics.Subscriptions(ctx, t) {
		if err != nil {
			return r, err
		}
		return r, client.Permanent("channel %s: topic %s has subscriptions, the first is of %s: remove its queues first", ch,
			t.Name, aws.ToString(one.Endpoint))
	}
	r.Resources = []string{t.ARN}
	if dry {
		return r, nil
	}
	if _, err := e.Clients.SNS.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &t.ARN}); err != nil {
		return r, fmt.Errorf("delete topic %s: %w", t.Name, client.Failed(err, "sns:DeleteTopic"))
	}
	return r, nil
}

// purgeEvery is how long SQS refuses another purge of a queue.
const purgeEvery = time.Minute

// Purge deletes the messages of a queue; dry: it only counts them.
func Purge(ctx context.Context, e *estate.Estate, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	if err := e.Clients.Open(); err != nil {
		return p, err
	}
	if ch.Queue == "" {
		return p, client.Permanent("channel %s: an exchange holds no messages: purge its queues", ch)
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return p, err
	}
	depth, err := q.Depth()
	if p.Messages = depth.All(); err != nil || dry {
		return p, err
	}
	_, err = e.Clients.SQS.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &q.URL}, q.At())
	var busy *types.PurgeQueueInProgress
	if errors.As(err, &busy) {
		return p, &driver.Error{Class: driver.Throttled, After: purgeEvery, Err: fmt.Errorf("queue %s: an earlier "+
			"purge began less than %v ago, and deletes only what was sent before it: try again in at most %v: %w", q.Name,
			purgeEvery, purgeEvery, err)}
	}
	if err != nil {
		return p, fmt.Errorf("purge queue %s: %w", q.Name, client.Failed(err, "sqs:PurgeQueue"))
	}
	return p, nil
}

// Inspect counts a channel's messages, as SQS does: approximately.
func Inspect(ctx context.Context, e *estate.Estate, ch driver.Channel) (driver.Depth, error) {
	if err := e.Clients.Open(); err != nil {
		return driver.Depth{}, err
	}
	if ch.Queue == "" {
		return driver.Depth{}, client.Permanent("channel %s: an exchange holds no messages: inspect its queues", ch)
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return driver.Depth{}, err
	}
	return q.Depth()
}
