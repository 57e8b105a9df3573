package estate

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// ensureTopic creates an exchange's topic, and reports whether it exists. A topic that was just created gets all queues
// of the exchange as subscribers. A topic that is missing under a running consumer is left to the producers, which know
// the queues to wait for; it is not needed before they send. If no producer has created it, the consumer's next check
// does.
func (p *Provisioner) ensureTopic(ctx context.Context, s driver.ChannelSpec) (t *Topic, there bool, err error) {
	t, err = p.Topics.Of(ctx, s.Channel)
	if _, foreign := p.Mapping(ExchangeOf(s.Channel)); foreign || err != nil && driver.ClassOf(err) != driver.NotFound {
		return t, err == nil, err
	}
	if err == nil {
		return t, true, p.maintainTopic(ctx, s, t)
	}
	name, nameErr := p.TopicName(s.Channel)
	if nameErr != nil {
		return nil, false, nameErr
	}
	if err := p.mistyped(ExchangeOf(s.Channel)); err != nil {
		return nil, false, err
	}
	if s.Owner && s.Again {
		id, err := p.Account.WhoAmI(ctx)
		return &Topic{Name: name, ARN: id.ARN("sns", name)}, false, err
	}
	if t, err = p.makeTopic(ctx, s, name); err != nil {
		return nil, false, err
	}
	return t, true, nil
}

// maintainTopic maintains an existing topic. For a consumer it sets the policy, because the process that created the
// topic may have ended too early; for a producer it lists the subscribed queues.
func (p *Provisioner) maintainTopic(ctx context.Context, s driver.ChannelSpec, t *Topic) error {
	switch {
	case !s.Mode.Creates():
		return nil
	case s.Owner && s.Mode == driver.Declare && s.Channel.Queue == "":
		return p.declareTopic(ctx, t, s)
	case s.Owner:
		return p.secure(ctx, t)
	}
	a := p.Exchanges.record(s.Channel)
	if err := a.Look(ctx, t); err != nil {
		p.log.Warn("the producer cannot list the subscriptions: it will not wait for queues that were lost",
			"channel", s.Channel.String(), "error", err)
	}
	return a.ready(ctx, t)
}

// makeTopic creates a topic and subscribes the existing queues. A producer waits until the queues that it knew exist.
func (p *Provisioner) makeTopic(ctx context.Context, s driver.ChannelSpec, name string) (t *Topic, err error) {
	a := p.Exchanges.Of(s.Channel)
	if !s.Owner {
		a = p.Exchanges.record(s.Channel)
	}
	create := func() (err error) {
		if t, err = p.createTopic(ctx, name, s); err != nil {
			return err
		}
		return p.subscribeAll(ctx, t, ExchangeOf(s.Channel))
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
	urls, err := p.Queues.OfExchange(ctx, s.Channel)
	if err != nil {
		return nil, err
	}
	there := NamesIn(urls)
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
func (p *Provisioner) createTopic(ctx context.Context, name string, s driver.ChannelSpec) (*Topic, error) {
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
	for key, value := range p.Tags(s, roleExchange) {
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	out, err := p.Clients.SNS.CreateTopic(ctx, in)
	if AlreadyExists(err) {
		return p.Topics.Named(ctx, name) // another process was first, with other tags or another scope
	}
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, client.Failed(err, "sns:CreateTopic"))
	}
	t, err := p.Topics.load(ctx, &Topic{Name: name, ARN: aws.ToString(out.TopicArn)})
	if err != nil {
		return nil, err
	}
	return t, p.secure(ctx, t)
}

// secure makes a topic's policy forbid plain HTTP.
func (p *Provisioner) secure(ctx context.Context, t *Topic) error {
	policy, err := MergePolicy(t.Attributes["Policy"], tlsOnly("sns:Publish", t.ARN))
	if err != nil {
		return fmt.Errorf("topic %s: %w", t.Name, err)
	}
	return p.Topics.set(ctx, t, map[string]string{"Policy": policy})
}

// declareTopic makes a topic and its tags as a topology says.
func (p *Provisioner) declareTopic(ctx context.Context, t *Topic, s driver.ChannelSpec) error {
	tags, err := p.Topics.TagsOf(ctx, t)
	if err != nil {
		return err
	}
	if err := Ours(s.Channel, "topic "+t.Name, tags); err != nil {
		return err
	}
	wanted, err := topicSettings(s, t)
	if err == nil {
		err = p.Topics.set(ctx, t, wanted)
	}
	if err != nil {
		return err
	}
	return p.Topics.SetTags(ctx, t, tags, p.Tags(s, roleExchange))
}

// subscribeAll subscribes all our queues of an exchange to its topic, which was just created: SNS drops a message
// without a subscriber. Only the consumers know their filters. Until their next check sets the filter, they discard the
// messages that do not match.
func (p *Provisioner) subscribeAll(ctx context.Context, t *Topic, ch driver.Channel) error {
	urls, err := p.Queues.OfExchange(ctx, ch)
	if err != nil {
		return err
	}
	for _, url := range urls {
		if err := p.reuniteOne(ctx, t, url); err != nil {
			return err
		}
	}
	return nil
}

func (p *Provisioner) reuniteOne(ctx context.Context, t *Topic, url string) error {
	q := &Queue{Name: NameIn(url), URL: url}
	tags, err := p.Queues.TagsOf(ctx, q)
	if err != nil || !managed(tags) {
		return err
	}
	if err := p.Queues.Load(ctx, q); err != nil {
		return err
	}
	redrive, _ := q.redrive()
	return p.Topics.Subscribe(ctx, t, q.ARN(), redrive.DeadLetterTargetArn, wire.Everything)
}
