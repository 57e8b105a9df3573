package snssqs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// subscriptionAttributes returns the attributes that a subscription of ours should have.
func subscriptionAttributes(filter, deadARN string) (map[string]string, error) {
	wanted := map[string]string{"RawMessageDelivery": "true"}
	if filter != wire.Everything {
		wanted["FilterPolicy"] = filter
	}
	if deadARN != "" {
		policy, err := json.Marshal(map[string]string{"deadLetterTargetArn": deadARN})
		if err != nil {
			return nil, err
		}
		wanted["RedrivePolicy"] = string(policy)
	}
	return wanted, nil
}

// sameSetting compares two values of a subscription attribute as SNS understands them.
func sameSetting(is, wanted string) bool {
	return is == wanted || sameJSON(is, wanted) || is == "" && wanted == wire.Everything
}

// subscribe subscribes a queue to a topic, with a filter, and with the dead letters as the target of failed deliveries.
// It is idempotent, and changes an existing subscription that differs.
func (b *Backend) subscribe(ctx context.Context, t *topic, queueARN, deadARN, filter string) error {
	wanted, err := subscriptionAttributes(filter, deadARN)
	if err != nil {
		return err
	}
	protocol := "sqs"
	out, err := b.clients.SNS.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: &t.arn, Protocol: &protocol, Endpoint: &queueARN, Attributes: wanted, ReturnSubscriptionArn: true,
	}, t.at())
	if alreadyExists(err) {
		return b.resubscribe(ctx, t, queueARN, wanted)
	}
	if err != nil {
		return fmt.Errorf("subscribe %s to topic %s: %w", queueARN, t.name, client.Failed(err, "sns:Subscribe"))
	}
	if filter != wire.Everything {
		return nil
	}
	// Subscribing without a filter also succeeds if the existing subscription has one.
	return b.alter(ctx, t, aws.ToString(out.SubscriptionArn), map[string]string{"FilterPolicy": wire.Everything})
}

// resubscribe changes those attributes of an existing subscription that differ.
func (b *Backend) resubscribe(ctx context.Context, t *topic, queueARN string, wanted map[string]string) error {
	arn, err := b.subscription(ctx, t, queueARN)
	if err != nil {
		return err
	}
	if wanted["FilterPolicy"] == "" {
		wanted["FilterPolicy"] = wire.Everything
	}
	return b.alter(ctx, t, arn, wanted)
}

func (b *Backend) alter(ctx context.Context, t *topic, arn string, wanted map[string]string) error {
	out, err := b.clients.SNS.GetSubscriptionAttributes(ctx,
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn}, t.at())
	if err != nil {
		return fmt.Errorf("subscription %s: %w", arn, client.Failed(err, "sns:GetSubscriptionAttributes"))
	}
	for name, value := range wanted {
		if sameSetting(out.Attributes[name], value) {
			continue
		}
		if _, err := b.clients.SNS.SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{
			SubscriptionArn: &arn, AttributeName: &name, AttributeValue: &value,
		}, t.at()); err != nil {
			return fmt.Errorf("subscription %s: set %s: %w", arn, name,
				client.Failed(err, "sns:SetSubscriptionAttributes"))
		}
	}
	return nil
}

// subscription returns the ARN of a queue's subscription. The error for one that does not exist is of class NotFound.
func (b *Backend) subscription(ctx context.Context, t *topic, queueARN string) (string, error) {
	pages := sns.NewListSubscriptionsByTopicPaginator(b.clients.SNS,
		&sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, t.at())
		if err != nil {
			return "", fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
				client.Failed(err, "sns:ListSubscriptionsByTopic"))
		}
		for _, s := range page.Subscriptions {
			if aws.ToString(s.Endpoint) == queueARN {
				return aws.ToString(s.SubscriptionArn), nil
			}
		}
	}
	return "", &driver.Error{
		Class: driver.NotFound,
		Err:   fmt.Errorf("topic %s has no subscription of %s", t.name, queueARN),
	}
}

// subscribeAll subscribes all our queues of an exchange to its topic, which was just created: SNS drops a message
// without a subscriber. Only the consumers know their filters. Until their next check sets the filter, they discard the
// messages that do not match.
func (b *Backend) subscribeAll(ctx context.Context, t *topic, ch driver.Channel) error {
	urls, err := b.queuesOf(ctx, ch)
	if err != nil {
		return err
	}
	for _, url := range urls {
		if err := b.reuniteOne(ctx, t, url); err != nil {
			return err
		}
	}
	return nil
}

// queuesOf returns the URLs of the queues that are named as queues of an exchange.
func (b *Backend) queuesOf(ctx context.Context, ch driver.Channel) (urls []string, err error) {
	prefix := b.namespace.join([]string{ch.Exchange, ""}, false)
	pages := sqs.NewListQueuesPaginator(b.clients.SQS, &sqs.ListQueuesInput{QueueNamePrefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the queues of %s: %w", ch, client.Failed(err, "sqs:ListQueues"))
		}
		for _, url := range page.QueueUrls {
			if b.ours(nameIn(url), ch) {
				urls = append(urls, url)
			}
		}
	}
	return urls, nil
}

// nameIn returns the queue's name in its URL.
func nameIn(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

func names(urls []string) []string {
	all := make([]string, len(urls))
	for i, url := range urls {
		all[i] = nameIn(url)
	}
	return all
}

func (b *Backend) reuniteOne(ctx context.Context, t *topic, url string) error {
	name := nameIn(url)
	tags, err := b.clients.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		return fmt.Errorf("queue %s: %w", name, client.Failed(err, "sqs:ListQueueTags"))
	}
	if tags.Tags[tagManaged] != managedByGodwit {
		return nil
	}
	q := &queue{name: name, url: url}
	if err := b.load(ctx, q); err != nil {
		return err
	}
	redrive, _ := parseRedrive(q.attributes["RedrivePolicy"])
	return b.subscribe(ctx, t, q.arn(), redrive.DeadLetterTargetArn, wire.Everything)
}
