package snssqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/godwitmq/godwit/driver"
)

// defaultTopicBytes is what SNS takes for a message, and for a batch of them, unless a topic allows more.
const defaultTopicBytes = 256 << 10

// topic is what is known of an existing topic.
type topic struct {
	name, arn, region string
	foreign           bool
	attributes        map[string]string
}

// maxBytes is how large a message may be, attributes included.
func (t *topic) maxBytes() int {
	n, err := strconv.Atoi(t.attributes["MaximumMessageSize"])
	if err != nil || n <= 0 {
		return defaultTopicBytes
	}
	return n
}

// exchange is the channel that stands for the topic of a channel.
func exchange(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Ordered: ch.Ordered}
}

// topicOf finds the topic of a channel's exchange. One that does not exist is of class NotFound.
func (b *Backend) topicOf(ctx context.Context, ch driver.Channel) (*topic, error) {
	for _, name := range []driver.Channel{ch, exchange(ch)} {
		if r, ok := b.mapped(name); ok && r.Topic != "" {
			a, _ := parseARN(r.Topic)
			if ordered := strings.HasSuffix(a.name, fifoSuffix); ordered != ch.Ordered {
				return nil, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("channel %s: topic %s is %s, and Ordered is %v", ch, r.Topic, kindOfQueue(ordered), ch.Ordered)}
			}
			return b.loadTopic(ctx, &topic{name: a.name, arn: r.Topic, region: a.region, foreign: true})
		}
	}
	name, err := b.namespace.topic(ch)
	if err != nil {
		return nil, err
	}
	return b.topicNamed(ctx, name)
}

func (b *Backend) topicNamed(ctx context.Context, name string) (*topic, error) {
	id, err := b.whoami(ctx)
	if err != nil {
		return nil, err
	}
	return b.loadTopic(ctx, &topic{name: name, arn: id.arn("sns", name)})
}

func (b *Backend) loadTopic(ctx context.Context, t *topic) (*topic, error) {
	out, err := b.sns.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.arn}, t.at())
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", t.name, permission(classify(err), "sns:GetTopicAttributes"))
	}
	t.attributes = out.Attributes
	return t, nil
}

// createTopic makes a topic that takes messages only over TLS.
func (b *Backend) createTopic(ctx context.Context, name string, s driver.ChannelSpec) (*topic, error) {
	attributes := map[string]string{}
	if s.Channel.Ordered {
		attributes["FifoTopic"] = "true"
		attributes["ContentBasedDeduplication"] = "false" // every message brings its id
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
	out, err := b.sns.CreateTopic(ctx, in)
	if alreadyExists(err) {
		return b.topicNamed(ctx, name) // another process was faster, with tags or a scope of its own
	}
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, permission(classify(err), "sns:CreateTopic"))
	}
	t, err := b.loadTopic(ctx, &topic{name: name, arn: deref(out.TopicArn)})
	if err != nil {
		return nil, err
	}
	return t, b.secure(ctx, t)
}

// secure makes a topic's policy forbid plain HTTP, if it does not.
func (b *Backend) secure(ctx context.Context, t *topic) error {
	attribute := "Policy"
	policy, err := merge(t.attributes[attribute], tlsOnly("sns:Publish", t.arn))
	if err != nil {
		return fmt.Errorf("topic %s: %w", t.name, err)
	}
	if sameJSON(t.attributes[attribute], policy) {
		return nil
	}
	if _, err := b.sns.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{TopicArn: &t.arn, AttributeName: &attribute, AttributeValue: &policy}); err != nil {
		return fmt.Errorf("topic %s: set its policy: %w", t.name, permission(classify(err), "sns:SetTopicAttributes"))
	}
	t.attributes[attribute] = policy
	return nil
}

// alreadyExists says that a topic or subscription exists, and not as it was asked for.
func alreadyExists(err error) bool {
	var invalid *types.InvalidParameterException
	return errors.As(err, &invalid) && strings.Contains(err.Error(), "already exists with different")
}
