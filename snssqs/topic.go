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
				return nil, &driver.Error{
					Class: driver.Permanent,
					Err: fmt.Errorf("channel %s: topic %s is %s, and Ordered is %v", ch, r.Topic, kindOfQueue(ordered),
						ch.Ordered),
				}
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

// ensureTopic makes an exchange's topic, and says whether it is there. One that was just made has all queues of the
// exchange subscribed again, and one that is gone under a running consumer is left to the producers: they know for
// whom they have to wait, and nobody misses it before they send. The consumer's next check makes it, if nobody has.
func (b *Backend) ensureTopic(ctx context.Context, s driver.ChannelSpec) (t *topic, there bool, err error) {
	t, err = b.topicOf(ctx, s.Channel)
	if _, foreign := b.mapped(exchange(s.Channel)); foreign || err != nil && driver.ClassOf(err) != driver.NotFound {
		return t, err == nil, err
	}
	if err == nil {
		return t, true, b.tend(ctx, s, t)
	}
	name, nameErr := b.namespace.topic(s.Channel)
	if nameErr != nil {
		return nil, false, nameErr
	}
	if s.Mode == driver.Verify {
		return nil, false, missing(s, "topic", name, err)
	}
	if err := b.mistyped(exchange(s.Channel)); err != nil {
		return nil, false, err
	}
	if s.Owner && s.Again {
		id, err := b.whoami(ctx)
		return &topic{name: name, arn: id.arn("sns", name)}, false, err
	}
	if t, err = b.makeTopic(ctx, s, name); err != nil {
		return nil, false, err
	}
	return t, true, nil
}

// tend sees to a topic that is there: a consumer to its policy, since whoever made it may have ended before it was
// done, and a producer to who is subscribed.
func (b *Backend) tend(ctx context.Context, s driver.ChannelSpec, t *topic) error {
	switch {
	case s.Mode != driver.Auto:
		return nil
	case s.Owner:
		return b.secure(ctx, t)
	}
	a := b.attend(s.Channel)
	if err := b.look(ctx, a, t); err != nil {
		b.log.Warn("a producer cannot see who is subscribed: it will not wait for lost queues to come back",
			"channel", s.Channel.String(), "error", err)
	}
	return b.ready(ctx, a, t)
}

// makeTopic makes a topic that does not exist, with the subscriptions of the queues that do. A producer makes none
// before the queues are there that it knew.
func (b *Backend) makeTopic(ctx context.Context, s driver.ChannelSpec, name string) (t *topic, err error) {
	a := b.audienceOf(s.Channel)
	if !s.Owner {
		a = b.attend(s.Channel)
	}
	create := func() (err error) {
		if t, err = b.createTopic(ctx, name, s); err != nil {
			return err
		}
		return b.reunite(ctx, t, exchange(s.Channel))
	}
	if a == nil {
		err = create()
		return t, err
	}
	a.lost()
	if s.Owner { // what is published then waits for the other queues
		err = a.alone(ctx, create)
		return t, err
	}
	urls, err := b.family(ctx, s.Channel)
	if err != nil {
		return nil, err
	}
	there := names(urls)
	if err := a.missing(there); err != nil {
		return nil, err
	}
	if err := a.alone(ctx, create); err != nil {
		return nil, err
	}
	a.whole(there)
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
	if _, err := b.sns.SetTopicAttributes(ctx,
		&sns.SetTopicAttributesInput{
			TopicArn: &t.arn, AttributeName: &attribute,
			AttributeValue: &policy,
		}); err != nil {
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
