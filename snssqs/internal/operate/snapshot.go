package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
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

// Snapshot reads all that is needed to make a queue or a topic again.
func Snapshot(ctx context.Context, e *estate.Estate, ch driver.Channel) (s driver.Snapshot, err error) {
	if err := e.Clients.Open(); err != nil {
		return s, err
	}
	data := snapshot{Version: snapshotVersion, Channel: ch, Tags: map[string]string{}}
	if ch.Queue == "" {
		s.Subscribers, err = readTopic(ctx, e, ch, &data)
	} else {
		err = readQueue(ctx, e, ch, &data)
	}
	if err != nil {
		return driver.Snapshot{}, err
	}
	s.Address, s.Tags = data.ARN, data.Tags
	s.Data, err = json.Marshal(&data)
	return s, err
}

func readQueue(ctx context.Context, e *estate.Estate, ch driver.Channel, data *snapshot) error {
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return err
	}
	tags, err := e.Queues.TagsOf(ctx, q)
	if err != nil {
		return err
	}
	data.ARN, data.Name, data.Attributes = q.ARN(), q.Name, estate.Without(q.Attributes, queueReports)
	maps.Copy(data.Tags, tags)
	t, arn, err := e.Topics.SubscriptionOf(ctx, ch, q)
	if err != nil || arn == "" {
		return err
	}
	is, err := e.Topics.SubscriptionAttributes(ctx, t, arn)
	if err != nil {
		return err
	}
	data.Subscription = &subscriptionSnapshot{Topic: t.ARN, ARN: arn, Attributes: map[string]string{}}
	for _, name := range subscriptionSettings {
		if value := is[name]; value != "" {
			data.Subscription.Attributes[name] = value
		}
	}
	return nil
}

func readTopic(ctx context.Context, e *estate.Estate, ch driver.Channel, data *snapshot) (subscribers []string,
	err error,
) {
	t, err := e.Topics.Of(ctx, ch)
	if err != nil {
		return nil, err
	}
	if data.Tags, err = e.Topics.TagsOf(ctx, t); err != nil {
		return nil, err
	}
	data.ARN, data.Name, data.Attributes = t.ARN, t.Name, estate.Without(t.Attributes, topicReports)
	for one, err := range e.Topics.Subscriptions(ctx, t) {
		if err != nil {
			return nil, err
		}
		subscribers = append(subscribers, aws.ToString(one.Endpoint))
	}
	return subscribers, nil
}

// Restore makes the queue or the topic of a snapshot.
func Restore(ctx context.Context, e *estate.Estate, data []byte) (r driver.Restored, err error) {
	if err := e.Clients.Open(); err != nil {
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
	if err := here(ctx, e, &s); err != nil {
		return r, err
	}
	if s.Channel.Queue == "" {
		return r, restoreTopic(ctx, e, &s, &r)
	}
	if err := restoreQueue(ctx, e, &s, &r); err != nil {
		return r, err
	}
	return r, restoreSubscription(ctx, e, &s, &r)
}

// here returns an error for a snapshot of another account, region or namespace.
func here(ctx context.Context, e *estate.Estate, s *snapshot) error {
	id, err := e.Account.WhoAmI(ctx)
	if err != nil {
		return err
	}
	service, want := "sqs", ""
	if s.Channel.Queue == "" {
		service = "sns"
		want, err = e.TopicName(s.Channel)
	} else {
		want, err = e.QueueName(s.Channel)
	}
	if err != nil {
		return client.Permanent("restore: %w", err)
	}
	if at := id.Beside(service, want); at != s.ARN || want != s.Name {
		return client.Permanent("restore: the snapshot is of %s, and channel %s is %s here: use the account, the region and the "+
			"namespace of the snapshot", s.ARN, s.Channel, at)
	}
	return nil
}

func restoreQueue(ctx context.Context, e *estate.Estate, s *snapshot, r *driver.Restored) error {
	_, err := e.Queues.Find(ctx, s.Name)
	if err == nil {
		r.Found = append(r.Found, s.ARN)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	_, made, err := e.Queues.Create(ctx, s.Name, s.Attributes, s.Tags)
	switch {
	case err != nil:
		return err
	case made:
		r.Made = append(r.Made, s.ARN)
	default:
		r.Found = append(r.Found, s.ARN)
	}
	e.Queues.Forget(s.Channel)
	return nil
}

// restoreSubscription subscribes a queue again, unless a consumer has done it meanwhile.
func restoreSubscription(ctx context.Context, e *estate.Estate, s *snapshot, r *driver.Restored) error {
	if s.Subscription == nil {
		return nil
	}
	a, ok := estate.ParseARN(s.Subscription.Topic)
	if !ok {
		return client.Permanent("restore: %q is no topic", s.Subscription.Topic)
	}
	t := &estate.Topic{Name: a.Name, ARN: s.Subscription.Topic, Region: a.Region}
	arn, err := e.Topics.Subscription(ctx, t, s.ARN)
	if err == nil {
		r.Found = append(r.Found, arn)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	protocol := "sqs"
	out, err := e.Clients.SNS.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: &t.ARN, Protocol: &protocol, Endpoint: &s.ARN, Attributes: s.Subscription.Attributes,
		ReturnSubscriptionArn: true,
	}, t.At())
	if err != nil {
		return fmt.Errorf("subscribe %s to topic %s: %w", s.ARN, t.ARN, client.Failed(err, "sns:Subscribe"))
	}
	r.Made = append(r.Made, aws.ToString(out.SubscriptionArn))
	return nil
}

// createTopicTakes are the attributes that CreateTopic sets together with the topic.
var createTopicTakes = []string{
	"ContentBasedDeduplication", "DeliveryPolicy", "DisplayName", "FifoThroughputScope", "FifoTopic", "KmsMasterKeyId",
	"Policy", "SignatureVersion", "TracingConfig",
}

func restoreTopic(ctx context.Context, e *estate.Estate, s *snapshot, r *driver.Restored) error {
	_, err := e.Topics.Named(ctx, s.Name)
	if err == nil {
		r.Found = append(r.Found, s.ARN)
		return nil
	}
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	in := &sns.CreateTopicInput{Name: &s.Name, Attributes: map[string]string{}, Tags: estate.TopicTags(s.Tags)}
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
	if _, err := e.Clients.SNS.CreateTopic(ctx, in); err != nil {
		if estate.AlreadyExists(err) { // a producer was first
			r.Found = append(r.Found, s.ARN)
			return nil
		}
		return fmt.Errorf("create topic %s: %w", s.Name, client.Failed(err, "sns:CreateTopic"))
	}
	r.Made = append(r.Made, s.ARN)
	var errs []error
	for _, name := range later {
		value := s.Attributes[name]
		if _, err := e.Clients.SNS.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
			TopicArn: &s.ARN, AttributeName: &name, AttributeValue: &value,
		}); err != nil {
			errs = append(errs, fmt.Errorf("topic %s: set %s to %q: %w", s.Name, name, value,
				client.Failed(err, "sns:SetTopicAttributes")))
		}
	}
	return errors.Join(errs...)
}
