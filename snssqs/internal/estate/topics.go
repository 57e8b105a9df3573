package estate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// Topics finds, creates and changes the topics of exchanges, and their subscriptions.
type Topics struct {
	*Names
	sns     *sns.Client
	account *Account
}

// Of looks up the topic of a channel's exchange. The error for one that does not exist is of class NotFound.
func (ts *Topics) Of(ctx context.Context, ch driver.Channel) (*Topic, error) {
	t, err := ts.unread(ctx, ch)
	if err != nil {
		return nil, err
	}
	return ts.load(ctx, t)
}

// unread is the topic of a channel without its attributes.
func (ts *Topics) unread(ctx context.Context, ch driver.Channel) (*Topic, error) {
	if r, ok := ts.topicMapping(ch); ok {
		if fifo := Ordered(r.Topic); fifo != ch.Ordered {
			return nil, client.Permanent("channel %s: topic %s is %s, and Ordered is %v", ch, r.Topic,
				kindOfQueue(fifo),
				ch.Ordered)
		}
		return ts.Mapped(ctx, r)
	}
	name, err := ts.TopicName(ch)
	if err != nil {
		return nil, err
	}
	id, err := ts.account.WhoAmI(ctx)
	return &Topic{Name: name, ARN: id.Beside("sns", name)}, err
}

// Clock asks SNS for the time, by a call about the topic of a channel.
func (ts *Topics) Clock(ctx context.Context, ch driver.Channel) (time.Time, error) {
	t, err := ts.unread(ctx, ch)
	if err != nil {
		return time.Time{}, err
	}
	out, err := ts.sns.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.ARN}, t.At())
	if err != nil {
		return client.TimeOfError(err)
	}
	return client.TimeOf(out.ResultMetadata)
}

// Named looks up a topic by its name.
func (ts *Topics) Named(ctx context.Context, name string) (*Topic, error) {
	id, err := ts.account.WhoAmI(ctx)
	if err != nil {
		return nil, err
	}
	return ts.load(ctx, &Topic{Name: name, ARN: id.Beside("sns", name)})
}

func (ts *Topics) load(ctx context.Context, t *Topic) (*Topic, error) {
	out, err := ts.sns.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.ARN}, t.At())
	if err != nil {
		return nil, fmt.Errorf("topic %s: %w", t.Name, client.Failed(err, "sns:GetTopicAttributes"))
	}
	t.Attributes = out.Attributes
	return t, nil
}

// Mapped is the topic that a channel is mapped to, without its attributes.
func (ts *Topics) Mapped(ctx context.Context, r Mapping) (*Topic, error) {
	t := &Topic{Name: r.Topic, ARN: r.Topic, Foreign: true, credentials: r.Credentials}
	if a, ok := ParseARN(r.Topic); ok {
		t.Name, t.Region = a.Name, a.Region
		return t, nil
	}
	id, err := ts.account.WhoAmI(ctx)
	t.ARN = id.Beside("sns", r.Topic)
	return t, err
}

// exists reports whether there is a topic with the name of a channel's exchange. If the listing knows the topics, only
// one that is in it is looked up.
func (ts *Topics) exists(ctx context.Context, ch driver.Channel, l *Listing) (bool, error) {
	name, err := ts.TopicName(ch)
	if err != nil {
		return false, nil //nolint:nilerr // a name that cannot be built does not exist
	}
	if arn, known := l.topic(name); known && arn == "" {
		return false, nil
	}
	_, err = ts.Named(ctx, name)
	return nameExists(ch, err)
}

// SetTags sets the tags of a topic that differ, and leaves other tags alone.
func (ts *Topics) SetTags(ctx context.Context, t *Topic, is, wanted map[string]string) error {
	differ := differingTags(is, wanted)
	if len(differ) == 0 {
		return nil
	}
	in := &sns.TagResourceInput{ResourceArn: &t.ARN, Tags: TopicTags(differ)}
	if _, err := ts.sns.TagResource(ctx, in); err != nil {
		return fmt.Errorf("topic %s: %w", t.Name, client.Failed(err, "sns:TagResource"))
	}
	return nil
}

// TagsOf returns the tags of a topic.
func (ts *Topics) TagsOf(ctx context.Context, t *Topic) (map[string]string, error) {
	out, err := ts.sns.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &t.ARN}, t.At())
	if err != nil {
		return nil, fmt.Errorf("topic %s: read its tags: %w", t.Name, client.Failed(err, "sns:ListTagsForResource"))
	}
	tags := make(map[string]string, len(out.Tags))
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags, nil
}

// set sets those attributes of a topic that differ.
func (ts *Topics) set(ctx context.Context, t *Topic, wanted map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[name]
		if sameTopicAttribute(name, t.Attributes[name], value) {
			continue
		}
		if _, err := ts.sns.SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
			TopicArn: &t.ARN, AttributeName: &name, AttributeValue: &value,
		}); err != nil {
			return fmt.Errorf("topic %s: set its %s: %w", t.Name, strings.ToLower(name),
				client.Failed(err, "sns:SetTopicAttributes"))
		}
		t.Attributes[name] = value
	}
	return nil
}

// create creates a topic that accepts messages only over TLS.
func (ts *Topics) create(ctx context.Context, name string, s driver.ChannelSpec) (*Topic, error) {
	tags := TopicTags(ts.Tags(ExchangeOf(s.Channel), s.Tags))
	in := &sns.CreateTopicInput{Name: &name, Attributes: topicAttributes(s), Tags: tags}
	out, err := ts.sns.CreateTopic(ctx, in)
	if AlreadyExists(err) {
		return ts.Named(ctx, name) // another process was first, with other tags or another scope
	}
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, client.Failed(err, "sns:CreateTopic"))
	}
	t, err := ts.load(ctx, &Topic{Name: name, ARN: aws.ToString(out.TopicArn)})
	if err != nil {
		return nil, err
	}
	return t, ts.secure(ctx, t)
}

// secure makes a topic's policy forbid plain HTTP.
func (ts *Topics) secure(ctx context.Context, t *Topic) error {
	policy, err := t.securePolicy()
	if err != nil {
		return err
	}
	return ts.set(ctx, t, map[string]string{"Policy": policy})
}

// declare makes a topic and its tags as a topology says.
func (ts *Topics) declare(ctx context.Context, t *Topic, s driver.ChannelSpec) error {
	tags, err := ts.TagsOf(ctx, t)
	if err != nil {
		return err
	}
	if err := Ours(s.Channel, "topic "+t.Name, tags); err != nil {
		return err
	}
	wanted, err := topicSettings(s, t)
	if err == nil {
		err = ts.set(ctx, t, wanted)
	}
	if err != nil {
		return err
	}
	return ts.SetTags(ctx, t, tags, ts.Tags(ExchangeOf(s.Channel), s.Tags))
}

// defaultTopicBytes is the size that SNS accepts for a message, and for a batch, unless the topic allows more.
const defaultTopicBytes = 256 << 10

// Topic is what is known about an existing topic.
type Topic struct {
	Name, ARN, Region string
	Foreign           bool
	credentials       aws.CredentialsProvider // nil: the backend's
	Attributes        map[string]string
}

// clone is a copy with attributes of its own.
func (t *Topic) clone() *Topic {
	c := *t
	c.Attributes = maps.Clone(t.Attributes)
	return &c
}

// MaxBytes returns the maximum size of a message, including attributes.
func (t *Topic) MaxBytes() int {
	n, err := strconv.Atoi(t.Attributes["MaximumMessageSize"])
	if err != nil || n <= 0 {
		return defaultTopicBytes
	}
	return n
}

// ExchangeOf returns the channel of the whole exchange that a channel belongs to.
func ExchangeOf(ch driver.Channel) driver.Channel {
	return driver.Channel{Exchange: ch.Exchange, Ordered: ch.Ordered}
}

// At directs a call to the topic's own region, with its credentials.
func (t *Topic) At() func(*sns.Options) {
	return func(o *sns.Options) {
		if t.Region != "" {
			o.Region = t.Region
		}
		if t.credentials != nil {
			o.Credentials = t.credentials
		}
	}
}

// securePolicy is the policy of a topic with the statement that forbids plain HTTP.
func (t *Topic) securePolicy() (string, error) {
	policy, err := mergePolicy(t.Attributes["Policy"], tlsOnly("sns:Publish", t.ARN))
	if err != nil {
		return "", fmt.Errorf("topic %s: %w", t.Name, err)
	}
	return policy, nil
}

// TopicTags are tags as SNS takes them, in the order of their names.
func TopicTags(tags map[string]string) (list []types.Tag) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}
