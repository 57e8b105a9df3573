package estate

import (
	"context"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// plansAtOnce is how many channels are compared at the same time, so that 300 of them take seconds.
const plansAtOnce = 32

// Names of resources in differences.
const (
	aQueue        = "queue"
	aDeadQueue    = "dead letters"
	aTopic        = "topic"
	aSubscription = "subscription"
)

// Planner compares what exists with specifications. It changes nothing.
type Planner struct {
	*Estate
	store driver.Store // of large bodies; nil: there is none
	id    ARN
	// topics are the topics of the exchanges, read before the queues; nil: it does not exist.
	topics map[driver.Channel]*plannedTopic
}

// Plan is driver.Operations.Plan.
func (p Planner) Plan(ctx context.Context, specs []driver.ChannelSpec) ([]driver.Difference, error) {
	if err := p.Clients.Open(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(specs, func(s driver.ChannelSpec) bool { return s.Channel.Exchange != "" || declares(s) }) {
		id, err := p.Account.WhoAmI(ctx)
		if err != nil {
			return nil, err
		}
		p.id = id
	}
	p.topics = map[driver.Channel]*plannedTopic{}
	for i := range specs {
		if err := p.Legal(specs[i]); err != nil {
			return nil, &driver.Error{Class: driver.Permanent, Err: err}
		}
	}
	if err := p.readTopics(ctx, specs); err != nil {
		return nil, err
	}
	found := make([][]driver.Difference, len(specs))
	if err := client.Concurrently(len(specs), plansAtOnce, func(i int) (err error) {
		found[i], err = p.channel(ctx, specs[i])
		return err
	}); err != nil {
		return nil, err
	}
	var all []driver.Difference
	if i := slices.IndexFunc(specs, declares); i >= 0 && p.store != nil {
		differ, err := claim.Plan(ctx, p.store, specs[i].Channel)
		if err != nil {
			return nil, fmt.Errorf("the store of large bodies: %w", err)
		}
		all = differ
	}
	seen := map[[3]string]bool{} // a topic is part of several specifications
	for _, d := range slices.Concat(found...) {
		key := [3]string{d.Resource, d.Name, d.Attribute}
		if !seen[key] {
			all = append(all, d)
		}
		seen[key] = true
	}
	return all, nil
}

// declares reports whether a specification is compared with everything that an owner changes.
func declares(s driver.ChannelSpec) bool { return s.Mode == driver.Declare }

// channel returns the differences of one channel.
func (p Planner) channel(ctx context.Context, s driver.ChannelSpec) ([]driver.Difference, error) {
	if _, foreign := p.Mapping(s.Channel); foreign {
		return p.mapped(ctx, s)
	}
	var all []driver.Difference
	t := p.topics[ExchangeOf(s.Channel)]
	if s.Channel.Exchange != "" && (s.Owner || s.Channel.Queue == "") {
		differ, err := p.topic(ctx, s, t)
		if err != nil || s.Channel.Queue == "" || ended(differ) {
			return differ, err
		}
		all = differ
	}
	var dead, q *Queue
	var err error
	if s.Owner && !s.NoDeadLetters {
		wanted := s
		wanted.Channel.DeadLetter = true
		var differ []driver.Difference
		if dead, differ, err = p.queue(ctx, wanted, t); err != nil {
			return nil, err
		}
		if all = append(all, differ...); ended(differ) {
			return all, nil
		}
	}
	q, differ, err := p.queue(ctx, s, t)
	if all = append(all, differ...); err != nil || q == nil || !s.Owner || ended(differ) {
		return p.withSubscription(all, s, q), err
	}
	if dead != nil || s.NoDeadLetters || s.Mode == driver.Declare { // otherwise its target is missing
		all = append(all, p.redrive(s, q, dead)...)
	}
	differ, err = p.subscription(ctx, s, t, q, dead)
	return append(all, differ...), err
}

// withSubscription adds the subscription of a queue that does not exist.
func (p Planner) withSubscription(all []driver.Difference, s driver.ChannelSpec, q *Queue) []driver.Difference {
	if q != nil || !s.Owner || s.Channel.Exchange == "" || ended(all) || len(all) == 0 {
		return all
	}
	name, _ := p.QueueName(s.Channel) // Legal has checked it
	return append(all, driver.Difference{
		Channel: s.Channel, Resource: aSubscription, Name: p.id.Beside("sqs", name), Note: slowly,
	})
}

// mappedNote is the note of what the backend was told to use.
const mappedNote = "Options.Names maps the channel to it, and Godwit never changes it"

// slowly is the note of what SNS does late.
const slowly = "SNS may take 15 minutes until all messages are filtered so"

// retainedSlowly is the note of a changed retention.
const retainedSlowly = "SQS may take 15 minutes until it keeps messages for that long"

// mapped returns how an existing resource differs that the backend was told to use.
func (p Planner) mapped(ctx context.Context, s driver.ChannelSpec) (all []driver.Difference, err error) {
	foreign := func(resource, name, text string) {
		all = append(all, driver.Difference{
			Kind: driver.DiffersForeign, Channel: s.Channel, Resource: resource, Name: name,
			Note: text + ": " + mappedNote,
		})
	}
	r, _ := p.Mapping(s.Channel)
	if s.Channel.Queue == "" {
		if p.topics[ExchangeOf(s.Channel)] == nil {
			foreign(aTopic, r.Topic, "it does not exist")
		}
		return all, nil
	}
	q, err := p.Queues.Of(ctx, s.Channel)
	if driver.ClassOf(err) == driver.NotFound && err != nil {
		foreign(aQueue, r.Queue, "it does not exist")
		return all, client.Ignore(err, driver.NotFound)
	}
	if err != nil || !s.Owner {
		return nil, err
	}
	for _, differ := range q.differences(s) {
		foreign(aQueue, q.Name, differ)
	}
	return all, nil
}

// queue returns a queue, nil if it does not exist, and how it differs.
func (p Planner) queue(ctx context.Context, s driver.ChannelSpec, t *plannedTopic) (*Queue,
	[]driver.Difference, error,
) {
	name, err := p.QueueName(s.Channel)
	if err != nil {
		return nil, nil, err
	}
	d := driver.Difference{Channel: s.Channel, Resource: aQueue, Name: name}
	if s.Channel.DeadLetter {
		d.Channel.DeadLetter, d.Resource = false, aDeadQueue
	}
	q, err := p.Queues.Find(ctx, name)
	switch {
	case driver.ClassOf(err) == driver.NotFound && err != nil:
		other := s.Channel
		other.Ordered = !other.Ordered
		if s.Mode == driver.Declare {
			if there, err := p.Queues.exists(ctx, other, nil); err != nil || there {
				return nil, []driver.Difference{otherOrder(d)}, err
			}
		}
		return nil, []driver.Difference{d}, nil
	case err != nil || !s.Owner:
		return q, nil, err
	}
	var topicARN string
	if s.Channel.Exchange != "" {
		if topicARN, err = p.topicARN(s.Channel, t); err != nil {
			return nil, nil, err
		}
	}
	wanted, err := queueSettings(s, q, topicARN)
	if err != nil {
		return nil, nil, err
	}
	if s.Mode != driver.Declare {
		return q, compared(d, q.Attributes, wanted, sameAttribute), nil
	}
	tags, err := p.Queues.TagsOf(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if !managed(tags) {
		return q, []driver.Difference{notMade(d)}, nil
	}
	all := compared(d, q.Attributes, wanted, exactlyAttribute)
	return q, append(all, comparedTags(d, tags, p.Tags(s.Channel, s.Tags))...), nil
}

// redrive returns how the redrive policy of a queue differs.
func (p Planner) redrive(s driver.ChannelSpec, q, dead *Queue) []driver.Difference {
	d := driver.Difference{Channel: s.Channel, Resource: aQueue, Name: q.Name}
	arn := ""
	if !s.NoDeadLetters {
		name, _ := p.QueueName(DeadLettersOf(s.Channel)) // Legal has checked it
		arn = p.id.Beside("sqs", name)
	}
	if dead != nil {
		arn = dead.ARN()
	}
	wanted, err := redriveAttribute(s, arn)
	if err != nil {
		return nil
	}
	return compared(d, q.Attributes, wanted, comparison(s.Mode))
}
