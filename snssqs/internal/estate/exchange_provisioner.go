package estate

import (
	"context"

	"github.com/godwitmq/godwit/driver"
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
		return &Topic{Name: name, ARN: id.Beside("sns", name)}, false, err
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
		return p.Topics.declare(ctx, t, s)
	case s.Owner:
		return p.Topics.secure(ctx, t)
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
		if t, err = p.Topics.create(ctx, name, s); err != nil {
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

// subscribeAll subscribes all our queues of an exchange to its topic, which was just created: SNS drops a message
// without a subscriber. Only the consumers know their filters. Until their next check sets the filter, they discard the
// messages that do not match.
func (p *Provisioner) subscribeAll(ctx context.Context, t *Topic, ch driver.Channel) error {
	urls, err := p.Queues.OfExchange(ctx, ch)
	if err != nil {
		return err
	}
	for _, url := range urls {
		q := &Queue{Name: NameIn(url), URL: url}
		tags, err := p.Queues.TagsOf(ctx, q)
		if err == nil && !managed(tags) {
			continue
		}
		if err == nil {
			err = p.Queues.Load(ctx, q)
		}
		if err != nil {
			return err
		}
		redrive, _ := q.redrive()
		wanted, err := subscriptionAttributes(wire.Everything, redrive.DeadLetterTargetArn)
		if err == nil {
			err = p.Topics.Subscribe(ctx, t, q.ARN(), wanted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
