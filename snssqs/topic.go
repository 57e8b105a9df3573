package snssqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// defaultTopicBytes is the size that SNS accepts for a message, and for a batch, unless the topic allows more.
const defaultTopicBytes = 256 << 10

// topic is what is known about an existing topic.
type topic struct {
	name, arn, region string
	foreign           bool
	credentials       aws.CredentialsProvider // nil: the backend's
	attributes        map[string]string
}

// maxBytes returns the maximum size of a message, including attributes.
func (t *topic) maxBytes() int {
	n, err := strconv.Atoi(t.attributes["MaximumMessageSize"])
	if err != nil || n <= 0 {
		return defaultTopicBytes
	}
	return n
}

// exchange returns the channel of the whole exchange that a channel belongs to.
func exchange(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Ordered: ch.Ordered}
}

// topicOf looks up the topic of a channel's exchange. The error for one that does not exist is of class NotFound.
func (b *Backend) topicOf(ctx context.Context, ch driver.Channel) (*topic, error) {
	for _, name := range []driver.Channel{ch, exchange(ch)} {
		if r, ok := b.mapped(name); ok && r.Topic != "" {
			if ordered := strings.HasSuffix(r.Topic, fifoSuffix); ordered != ch.Ordered {
				return nil, client.Permanent("channel %s: topic %s is %s, and Ordered is %v", ch, r.Topic,
					kindOfQueue(ordered), ch.Ordered)
			}
			t, err := b.foreignTopic(ctx, r)
			if err != nil {
				return nil, err
			}
			return b.loadTopic(ctx, t)
		}
	}
	name, err := b.namespace.topic(ch)
	if err != nil {
		return nil, err
	}
	return b.topicNamed(ctx, name)
}

func (b *Backend) topicNamed(ctx context.Context, name string) (*topic, error) {
	id, err := b.account.whoami(ctx)
	if err != nil {
		return nil, err
	}
	return b.loadTopic(ctx, &topic{name: name, arn: id.arn("sns", name)})
}

func (b *Backend) loadTopic(ctx context.Context, t *topic) (*topic, error) {
	out, err := b.clients.SNS.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.arn}, t.at())
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", t.name, client.Failed(err, "sns:GetTopicAttributes"))
	}
	t.attributes = out.Attributes
	return t, nil
}

// ensureTopic creates an exchange's topic, and reports whether it exists. A topic that was just created gets all queues
// of the exchange as subscribers. A topic that is missing under a running consumer is left to the producers, which know
// the queues to wait for; it is not needed before they send. If no producer has created it, the consumer's next check
// does.
func (b *Backend) ensureTopic(ctx context.Context, s driver.ChannelSpec) (t *topic, there bool, err error) {
	t, err = b.topicOf(ctx, s.Channel)
	if _, foreign := b.mapped(exchange(s.Channel)); foreign || err != nil && driver.ClassOf(err) != driver.NotFound {
		return t, err == nil, err
	}
	if err == nil {
		return t, true, b.maintainTopic(ctx, s, t)
	}
	name, nameErr := b.namespace.topic(s.Channel)
	if nameErr != nil {
		return nil, false, nameErr
	}
	if err := b.mistyped(exchange(s.Channel)); err != nil {
		return nil, false, err
	}
	if s.Owner && s.Again {
		id, err := b.account.whoami(ctx)
		return &topic{name: name, arn: id.arn("sns", name)}, false, err
	}
	if t, err = b.makeTopic(ctx, s, name); err != nil {
		return nil, false, err
	}
	return t, true, nil
}

// maintainTopic maintains an existing topic. For a consumer it sets the policy, because the process that created the
// topic may have ended too early; for a producer it lists the subscribed queues.
func (b *Backend) maintainTopic(ctx context.Context, s driver.ChannelSpec, t *topic) error {
	switch {
	case !s.Mode.Creates():
		return nil
	case s.Owner && s.Mode == driver.Declare && s.Channel.Queue == "":
		return t.declare(ctx, b, s)
	case s.Owner:
		return b.secure(ctx, t)
	}
	a := b.recordSubscribers(s.Channel)
	if err := b.look(ctx, a, t); err != nil {
		b.log.Warn("the producer cannot list the subscriptions: it will not wait for queues that were lost",
			"channel", s.Channel.String(), "error", err)
	}
	return b.ready(ctx, a, t)
}

// makeTopic creates a topic and subscribes the existing queues. A producer waits until the queues that it knew exist.
func (b *Backend) makeTopic(ctx context.Context, s driver.ChannelSpec, name string) (t *topic, err error) {
	a := b.subscribersOf(s.Channel)
	if !s.Owner {
		a = b.recordSubscribers(s.Channel)
	}
	create := func() (err error) {
		if t, err = b.createTopic(ctx, name, s); err != nil {
			return err
		}
		return b.subscribeAll(ctx, t, exchange(s.Channel))
	}
	if a == nil {
		err = create()
		return t, err
	}
	a.topicLost()
	if s.Owner { // publishes then wait for the other queues
		err = a.exclusively(ctx, create)
		return t, err
	}
	urls, err := b.queuesOf(ctx, s.Channel)
	if err != nil {
		return nil, err
	}
	there := names(urls)
	if err := a.missing(there); err != nil {
		return nil, err
	}
	if err := a.exclusively(ctx, create); err != nil {
		return nil, err
	}
	a.complete(there)
	return t, nil
}

// createTopic creates a topic that accepts messages only over TLS.
func (b *Backend) createTopic(ctx context.Context, name string, s driver.ChannelSpec) (*topic, error) {
	attributes := map[string]string{}
	if s.Channel.Ordered {
		attributes["FifoTopic"] = "true"
		attributes["ContentBasedDeduplication"] = "false" // every message has its own id
		attributes["FifoThroughputScope"] = "Topic"
		if s.HighThroughput {
			attributes["FifoThroughputScope"] = "MessageGroup"
		}
	}
	if s.Encryption != "" {
		attributes["KmsMasterKeyId"] = s.Encryption
	}
	in := &sns.CreateTopicInput{Name: &name, Attributes: attributes}
	for key, value := range b.tags(s, roleExchange) {
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	out, err := b.clients.SNS.CreateTopic(ctx, in)
	if alreadyExists(err) {
		return b.topicNamed(ctx, name) // another process was first, with other tags or another scope
	}
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, client.Failed(err, "sns:CreateTopic"))
	}
	t, err := b.loadTopic(ctx, &topic{name: name, arn: aws.ToString(out.TopicArn)})
	if err != nil {
		return nil, err
	}
	return t, b.secure(ctx, t)
}

// secure makes a topic's policy forbid plain HTTP.
func (b *Backend) secure(ctx context.Context, t *topic) error {
	policy, err := merge(t.attributes["Policy"], tlsOnly("sns:Publish", t.arn))
	if err != nil {
		return fmt.Errorf("topic %s: %w", t.name, err)
	}
	return t.set(ctx, b.clients.SNS, map[string]string{"Policy": policy})
}

// declare makes a topic and its tags as a topology says.
func (t *topic) declare(ctx context.Context, b *Backend, s driver.ChannelSpec) error {
	tags, err := b.topicTags(ctx, t.arn)
	if err != nil {
		return err
	}
	if tags[tagManaged] != managedByGodwit {
		return notOurs(s.Channel, "topic "+t.name)
	}
	wanted, err := topicSettings(s, t)
	if err == nil {
		err = t.set(ctx, b.clients.SNS, wanted)
	}
	if err != nil {
		return err
	}
	return tagTopic(ctx, b.clients.SNS, t, tags, b.tags(s, roleExchange))
}

// set sets those attributes of a topic that differ.
func (t *topic) set(ctx context.Context, c *sns.Client, wanted map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[name]
		if sameTopicAttribute(name, t.attributes[name], value) {
			continue
		}
		if _, err := c.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
			TopicArn: &t.arn, AttributeName: &name, AttributeValue: &value,
		}); err != nil {
			return fmt.Errorf("topic %s: set its %s: %w", t.name, strings.ToLower(name),
				client.Failed(err, "sns:SetTopicAttributes"))
		}
		t.attributes[name] = value
	}
	return nil
}

// alreadyExists reports whether a topic or subscription exists with other attributes.
func alreadyExists(err error) bool {
	var invalid *types.InvalidParameterException
	return errors.As(err, &invalid) && strings.Contains(err.Error(), "already exists with different")
}
