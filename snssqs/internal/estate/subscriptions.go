package estate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Subscriptions are those of a topic, page by page.
func (ts *Topics) Subscriptions(ctx context.Context, t *Topic) iter.Seq2[types.Subscription, error] {
	return func(yield func(types.Subscription, error) bool) {
		pages := sns.NewListSubscriptionsByTopicPaginator(ts.sns, &sns.ListSubscriptionsByTopicInput{TopicArn: &t.ARN})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx, t.At())
			if err != nil {
				yield(types.Subscription{}, fmt.Errorf("topic %s: list its subscriptions: %w", t.Name,
					client.Failed(err, "sns:ListSubscriptionsByTopic")))
				return
			}
			for _, s := range page.Subscriptions {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// subscriptionsPage returns the ARNs of the first subscriptions of a topic, by endpoint.
func (ts *Topics) subscriptionsPage(ctx context.Context, t *Topic) (map[string]string, error) {
	out, err := ts.sns.ListSubscriptionsByTopic(ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: &t.ARN}, t.At(),
		func(o *sns.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return nil, fmt.Errorf("topic %s: list its subscriptions: %w", t.Name,
			client.Failed(err, "sns:ListSubscriptionsByTopic"))
	}
	arns := make(map[string]string, len(out.Subscriptions))
	for _, s := range out.Subscriptions {
		if arn := aws.ToString(s.SubscriptionArn); strings.HasPrefix(arn, "arn:") { // else it waits for a confirmation
			arns[aws.ToString(s.Endpoint)] = arn
		}
	}
	return arns, nil
}

// Subscription returns the ARN of a queue's subscription. The error for one that does not exist is of class NotFound.
func (ts *Topics) Subscription(ctx context.Context, t *Topic, queueARN string) (string, error) {
	for s, err := range ts.Subscriptions(ctx, t) {
		if err != nil {
			return "", err
		}
		if aws.ToString(s.Endpoint) == queueARN {
			return aws.ToString(s.SubscriptionArn), nil
		}
	}
	return "", client.NotFound("topic %s has no subscription of %s", t.Name, queueARN)
}

// subscribed returns the queues that are named as queues of an exchange and are subscribed to its topic.
func (ts *Topics) subscribed(ctx context.Context, of driver.Channel, t *Topic) (queues []string, err error) {
	for s, err := range ts.Subscriptions(ctx, t) {
		if err != nil {
			return nil, err
		}
		at, _ := ParseARN(aws.ToString(s.Endpoint))
		if ts.ours(at.Name, of) {
			queues = append(queues, at.Name)
		}
	}
	return queues, nil
}

// SubscriptionAttributes reads the attributes of a subscription.
func (ts *Topics) SubscriptionAttributes(ctx context.Context, t *Topic, arn string) (map[string]string, error) {
	in := &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn}
	out, err := ts.sns.GetSubscriptionAttributes(ctx, in, t.At())
	if err != nil {
		return nil, fmt.Errorf("subscription %s: %w", arn, client.Failed(err, "sns:GetSubscriptionAttributes"))
	}
	return out.Attributes, nil
}

// SubscriptionOf returns the subscription of an exchange's queue, with its topic; "": there is none.
func (ts *Topics) SubscriptionOf(ctx context.Context, ch driver.Channel, q *Queue) (t *Topic, arn string, err error) {
	if ch.Exchange == "" || ch.DeadLetter {
		return nil, "", nil
	}
	if t, err = ts.Of(ctx, ch); err != nil {
		return nil, "", client.Ignore(err, driver.NotFound)
	}
	arn, err = ts.Subscription(ctx, t, q.ARN())
	return t, arn, client.Ignore(err, driver.NotFound)
}

// Subscribe subscribes a queue to a topic with attributes. It is idempotent, and changes an existing subscription that
// differs.
func (ts *Topics) Subscribe(ctx context.Context, t *Topic, queueARN string, wanted map[string]string) error {
	protocol := "sqs"
	out, err := ts.sns.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: &t.ARN, Protocol: &protocol, Endpoint: &queueARN, Attributes: wanted, ReturnSubscriptionArn: true,
	}, t.At())
	if AlreadyExists(err) {
		return ts.resubscribe(ctx, t, queueARN, wanted)
	}
	if err != nil {
		return fmt.Errorf("subscribe %s to topic %s: %w", queueARN, t.Name, client.Failed(err, "sns:Subscribe"))
	}
	if wanted["FilterPolicy"] != "" {
		return nil
	}
	// Subscribing without a filter also succeeds if the existing subscription has one.
	all := map[string]string{"FilterPolicy": filterpolicy.Everything}
	return ts.alter(ctx, t, aws.ToString(out.SubscriptionArn), all)
}

// resubscribe changes those attributes of an existing subscription that differ.
func (ts *Topics) resubscribe(ctx context.Context, t *Topic, queueARN string, wanted map[string]string) error {
	arn, err := ts.Subscription(ctx, t, queueARN)
	if err != nil {
		return err
	}
	return ts.adjust(ctx, t, arn, wanted)
}

// adjust is alter with all attributes: one without a filter gets everything.
func (ts *Topics) adjust(ctx context.Context, t *Topic, arn string, wanted map[string]string) error {
	wanted = maps.Clone(wanted)
	if wanted["FilterPolicy"] == "" {
		wanted["FilterPolicy"] = filterpolicy.Everything
	}
	return ts.alter(ctx, t, arn, wanted)
}

func (ts *Topics) alter(ctx context.Context, t *Topic, arn string, wanted map[string]string) error {
	is, err := ts.SubscriptionAttributes(ctx, t, arn)
	if err != nil {
		return err
	}
	for name, value := range wanted {
		if sameSetting(is[name], value) {
			continue
		}
		if _, err := ts.sns.SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: &arn, AttributeName: &name, AttributeValue: &value,
		}, t.At()); err != nil {
			return fmt.Errorf("subscription %s: set %s: %w", arn, name,
				client.Failed(err, "sns:SetSubscriptionAttributes"))
		}
	}
	return nil
}

// AlreadyExists reports whether a topic or subscription exists with other attributes.
func AlreadyExists(err error) bool {
	var invalid *types.InvalidParameterException
	return errors.As(err, &invalid) && strings.Contains(err.Error(), "already exists with different")
}
