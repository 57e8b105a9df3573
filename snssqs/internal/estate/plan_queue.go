package estate

import (
	"context"

	"github.com/godwitmq/godwit/driver"
)

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
			if there, err := p.Queues.Exists(ctx, other); err != nil || there {
				return nil, []driver.Difference{otherOrder(d, s.Channel)}, err
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
		arn = p.id.ARN("sqs", name)
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
