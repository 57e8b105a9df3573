package snssqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// snapshotVersion is the version of the form of a snapshot. Later versions of this package read it.
const snapshotVersion = 1

// snapshot is a queue or a topic with all that is needed to make it again.
type snapshot struct {
	Version      int                   `json:"version"`
	Channel      driver.Channel        `json:"channel"`
	ARN          string                `json:"arn"`
	Name         string                `json:"name"`
	Attributes   map[string]string     `json:"attributes"` // those that can be set
	Tags         map[string]string     `json:"tags,omitempty"`
	Subscription *subscriptionSnapshot `json:"subscription,omitempty"` // of a queue to its exchange's topic
}

// subscriptionSnapshot is a subscription.
type subscriptionSnapshot struct {
	Topic      string            `json:"topic"`
	ARN        string            `json:"arn"`
	Attributes map[string]string `json:"attributes"`
}

// queueReports are the attributes of a queue that SQS reports and that cannot be set.
var queueReports = []string{
	string(sqstypes.QueueAttributeNameQueueArn),
	string(sqstypes.QueueAttributeNameCreatedTimestamp),
	string(sqstypes.QueueAttributeNameLastModifiedTimestamp),
	string(sqstypes.QueueAttributeNameApproximateNumberOfMessages),
	string(sqstypes.QueueAttributeNameApproximateNumberOfMessagesDelayed),
	string(sqstypes.QueueAttributeNameApproximateNumberOfMessagesNotVisible),
}

// topicReports are the same of a topic.
var topicReports = []string{
	"TopicArn", "Owner", "SubscriptionsPending", "SubscriptionsConfirmed", "SubscriptionsDeleted",
	"EffectiveDeliveryPolicy", "BeginningArchiveTime",
}

// subscriptionSettings are the attributes of a subscription that can be set.
var subscriptionSettings = []string{
	"DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery", "RedrivePolicy", "SubscriptionRoleArn",
	"ReplayPolicy",
}

// Snapshot reads a queue with its tags and its subscription, or a topic with its tags and subscribers. Subscriptions of
// a queue to other topics than its exchange's are not seen, because Remove does not delete them.
func (b *Backend) Snapshot(ctx context.Context, ch driver.Channel) (s driver.Snapshot, err error) {
	if err := b.clients.Open(); err != nil {
		return s, err
	}
	data := snapshot{Version: snapshotVersion, Channel: ch, Tags: map[string]string{}}
	if ch.Queue == "" {
		s.Subscribers, err = b.readTopic(ctx, ch, &data)
	} else {
		err = b.readQueue(ctx, ch, &data)
	}
	if err != nil {
		return driver.Snapshot{}, err
	}
	s.Address, s.Tags = data.ARN, data.Tags
	s.Data, err = json.Marshal(&data)
	return s, err
}

func (b *Backend) readQueue(ctx context.Context, ch driver.Channel, data *snapshot) error {
	q, err := b.queueOf(ctx, ch)
	if err != nil {
		return err
	}
	tags, err := b.clients.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &q.url}, q.at())
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.name, client.Failed(err, "sqs:ListQueueTags"))
	}
	data.ARN, data.Name, data.Attributes = q.arn(), q.name, without(q.attributes, queueReports)
	maps.Copy(data.Tags, tags.Tags)
	t, arn, err := b.subscriptionOf(ctx, ch, q)
	if err != nil || arn == "" {
		return err
	}
	out, err := b.clients.SNS.GetSubscriptionAttributes(ctx,
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn}, t.at())
	if err != nil {
		return fmt.Errorf("subscription %s: %w", arn, client.Failed(err, "sns:GetSubscriptionAttributes"))
	}
	data.Subscription = &subscriptionSnapshot{Topic: t.arn, ARN: arn, Attributes: map[string]string{}}
	for _, name := range subscriptionSettings {
		if value := out.Attributes[name]; value != "" {
			data.Subscription.Attributes[name] = value
		}
	}
	return nil
}

func (b *Backend) readTopic(ctx context.Context, ch driver.Channel, data *snapshot) (subscribers []string, err error) {
	t, err := b.topicOf(ctx, ch)
	if err != nil {
		return nil, err
	}
	tags, err := b.clients.SNS.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &t.arn}, t.at())
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", t.name, client.Failed(err, "sns:ListTagsForResource"))
	}
	for _, tag := range tags.Tags {
		data.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	data.ARN, data.Name, data.Attributes = t.arn, t.name, without(t.attributes, topicReports)
	pages := sns.NewListSubscriptionsByTopicPaginator(b.clients.SNS,
		&sns.ListSubscriptionsByTopicInput{TopicArn: &t.arn})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, t.at())
		if err != nil {
			return nil, fmt.Errorf("topic %s: list its subscriptions: %w", t.name,
				client.Failed(err, "sns:ListSubscriptionsByTopic"))
		}
		for _, one := range page.Subscriptions {
			subscribers = append(subscribers, aws.ToString(one.Endpoint))
		}
	}
	return subscribers, nil
}

// without returns the attributes that are set and are none of some names.
func without(attributes map[string]string, names []string) map[string]string {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(name, value string) bool { return value == "" || slices.Contains(names, name) })
	return out
}

// Restore makes a queue with its attributes, its policy, its tags and its subscription, or a topic with its attributes
// and tags. SQS reserves the name of a deleted queue for a minute; the error then says so (After).
func (b *Backend) Restore(ctx context.Context, data []byte) (r driver.Restored, err error) {
	if err := b.clients.Open(); err != nil {
		return r, err
	}
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return r, client.Permanent("restore: the snapshot cannot be read: %w", err)
	}
	if s.Version != snapshotVersion {
		return r, client.Permanent("restore: the snapshot has version %d, and this program reads %d: use a newer godwit",
			s.Version, snapshotVersion)
	}
	if err := b.here(ctx, &s); err != nil {
		return r, err
	}
	if s.Channel.Queue == "" {
		return r, b.restoreTopic(ctx, &s, &r)
	}
	if err := b.restoreQueue(ctx, &s, &r); err != nil {
		return r, err
	}
	return r, b.restoreSubscription(ctx, &s, &r)
}

// here returns an error for a snapshot of another account, region or namespace.
func (b *Backend) here(ctx context.Context, s *snapshot) error {
	id, err := b.account.whoami(ctx)
	if err != nil {
		return err
	}
	service, want := "sqs", ""
	if s.Channel.Queue == "" {
		service = "sns"
		want, err = b.namespace.topic(s.Channel)
	} else {
		want, err = b.namespace.queue(s.Channel)
	}
	if err != nil {
		return client.Permanent("restore: %w", err)
	}
	if at := id.arn(service, want); at != s.ARN || want != s.Name {
		return client.Permanent("restore: the snapshot is of %s, and channel %s is %s here: use the account, the region and the "+
			"namespace of the snapshot", s.ARN, s.Channel, at)
	}
	return nil
}

func (b *Backend) restoreQueue(ctx context.Context, s *snapshot, r *driver.Restored) error {
	_, err := b.find(ctx, s.Name)
	if err == nil {
		r.Found = append(r.Found, s.ARN)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	_, made, err := b.create(ctx, s.Name, s.Attributes, s.Tags)
	switch {
	case err != nil:
		return err
	case made:
		r.Made = append(r.Made, s.ARN)
	default:
		r.Found = append(r.Found, s.ARN)
	}
	b.forget(s.Channel)
	return nil
}

// restoreSubscription subscribes a queue again, unless a consumer has done it meanwhile.
func (b *Backend) restoreSubscription(ctx context.Context, s *snapshot, r *driver.Restored) error {
	if s.Subscription == nil {
		return nil
	}
	a, ok := parseARN(s.Subscription.Topic)
	if !ok {
		return client.Permanent("restore: %q is no topic", s.Subscription.Topic)
	}
	t := &topic{name: a.name, arn: s.Subscription.Topic, region: a.region}
	arn, err := b.subscription(ctx, t, s.ARN)
	if err == nil {
		r.Found = append(r.Found, arn)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	protocol := "sqs"
	out, err := b.clients.SNS.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: &t.arn, Protocol: &protocol, Endpoint: &s.ARN, Attributes: s.Subscription.Attributes,
		ReturnSubscriptionArn: true,
	}, t.at())
	if err != nil {
		return fmt.Errorf("subscribe %s to topic %s: %w", s.ARN, t.arn, client.Failed(err, "sns:Subscribe"))
	}
	r.Made = append(r.Made, aws.ToString(out.SubscriptionArn))
	return nil
}

// createTopicTakes are the attributes that CreateTopic sets together with the topic.
var createTopicTakes = []string{
	"ContentBasedDeduplication", "DeliveryPolicy", "DisplayName", "FifoThroughputScope", "FifoTopic", "KmsMasterKeyId",
	"Policy", "SignatureVersion", "TracingConfig",
}

func (b *Backend) restoreTopic(ctx context.Context, s *snapshot, r *driver.Restored) error {
	_, err := b.topicNamed(ctx, s.Name)
	if err == nil {
		r.Found = append(r.Found, s.ARN)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	in := &sns.CreateTopicInput{Name: &s.Name, Attributes: map[string]string{}}
	var later []string
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		switch {
		case name == "FifoTopic" && s.Attributes[name] == "false": // SNS takes it only of a FIFO topic
		case slices.Contains(createTopicTakes, name):
			in.Attributes[name] = s.Attributes[name]
		default:
			later = append(later, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Tags)) {
		value := s.Tags[key]
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	if _, err := b.clients.SNS.CreateTopic(ctx, in); err != nil {
		if alreadyExists(err) { // a producer was first
			r.Found = append(r.Found, s.ARN)
			return nil
		}
		return fmt.Errorf("create topic %s: %w", s.Name, client.Failed(err, "sns:CreateTopic"))
	}
	r.Made = append(r.Made, s.ARN)
	var errs []error
	for _, name := range later {
		value := s.Attributes[name]
		if _, err := b.clients.SNS.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
			TopicArn: &s.ARN, AttributeName: &name, AttributeValue: &value,
		}); err != nil {
			errs = append(errs, fmt.Errorf("topic %s: set %s to %q: %w", s.Name, name, value,
				client.Failed(err, "sns:SetTopicAttributes")))
		}
	}
	return errors.Join(errs...)
}
