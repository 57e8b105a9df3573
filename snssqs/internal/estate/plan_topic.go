package estate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// plannedTopic is a topic with its subscriptions.
type plannedTopic struct {
	*Topic
	tags          map[string]string
	subscriptions map[string]string // their ARNs, by endpoint
}

// topicsASecond is how many topics with their tags are read in a second: SNS allows an account 10 such requests (its
// reference, TagResource), and refuses more of them for all programs of the account.
const topicsASecond = 10

// readTopics reads the topic of each exchange once, with its subscriptions if a queue may have one.
func (p Planner) readTopics(ctx context.Context, specs []driver.ChannelSpec) error {
	var exchanges []driver.Channel
	exact, listed := map[driver.Channel]bool{}, map[driver.Channel]bool{}
	for i := range specs {
		s := &specs[i]
		if s.Channel.Exchange == "" || s.Channel.Queue != "" && !s.Owner {
			continue
		}
		of := ExchangeOf(s.Channel)
		if !slices.Contains(exchanges, of) {
			exchanges = append(exchanges, of)
		}
		exact[of] = exact[of] || s.Mode == driver.Declare && s.Channel.Queue == ""
		listed[of] = listed[of] || s.Channel.Queue != ""
	}
	read := make([]*plannedTopic, len(exchanges))
	begun, tagged := time.Now(), 0
	var turn sync.Mutex
	err := client.Concurrently(len(exchanges), plansAtOnce, func(i int) (err error) {
		if exact[exchanges[i]] {
			turn.Lock()
			wait := time.Duration(tagged/topicsASecond) * time.Second
			tagged++
			turn.Unlock()
			if err := backoff.Sleep(ctx, wait-time.Since(begun)); err != nil {
				return err
			}
		}
		read[i], err = p.readTopic(ctx, exchanges[i], exact[exchanges[i]], listed[exchanges[i]])
		return err
	})
	for i, of := range exchanges {
		p.topics[of] = read[i]
	}
	return err
}

func (p Planner) readTopic(ctx context.Context, of driver.Channel, exact, listed bool) (*plannedTopic, error) {
	t, err := p.Topics.Of(ctx, of)
	if err != nil {
		return nil, client.Ignore(err, driver.NotFound)
	}
	one := &plannedTopic{Topic: t, subscriptions: map[string]string{}}
	if exact && !t.Foreign {
		if one.tags, err = p.Topics.TagsOf(ctx, t); err != nil {
			return nil, err
		}
	}
	if !listed {
		return one, nil
	}
	for s, err := range p.Topics.Subscriptions(ctx, t) {
		if err != nil {
			return nil, err
		}
		one.subscriptions[aws.ToString(s.Endpoint)] = aws.ToString(s.SubscriptionArn)
	}
	return one, nil
}

func (p Planner) topic(ctx context.Context, s driver.ChannelSpec, t *plannedTopic) ([]driver.Difference, error) {
	name, err := p.TopicName(s.Channel)
	if err != nil {
		return nil, err
	}
	d := driver.Difference{Channel: ExchangeOf(s.Channel), Resource: aTopic, Name: name}
	if r, foreign := p.Mapping(ExchangeOf(s.Channel)); foreign && t == nil {
		d.Kind, d.Name, d.Note = driver.DiffersForeign, r.Topic, "it does not exist: "+mappedNote
		return []driver.Difference{d}, nil
	}
	if t == nil {
		if s.Mode == driver.Declare {
			other := ExchangeOf(s.Channel)
			other.Ordered = !other.Ordered
			if there, err := p.Topics.exists(ctx, other, nil); err != nil || there {
				return []driver.Difference{otherOrder(d)}, err
			}
		}
		return []driver.Difference{d}, nil
	}
	if s.Mode != driver.Declare || s.Channel.Queue != "" || t.Foreign {
		return nil, nil
	}
	if !managed(t.tags) {
		return []driver.Difference{notMade(d)}, nil
	}
	wanted, err := topicSettings(s, t.Topic)
	if err != nil {
		return nil, err
	}
	all := compared(d, t.Attributes, wanted, sameTopicAttribute)
	return append(all, comparedTags(d, t.tags, p.Tags(ExchangeOf(s.Channel), s.Tags))...), nil
}

// topicARN is the ARN of an exchange's topic, which may not exist.
func (p Planner) topicARN(ch driver.Channel, t *plannedTopic) (string, error) {
	if t != nil {
		return t.ARN, nil
	}
	name, err := p.TopicName(ch)
	return p.id.Beside("sns", name), err
}

// subscription returns how the subscription of a queue differs.
func (p Planner) subscription(ctx context.Context, s driver.ChannelSpec, t *plannedTopic, q, dead *Queue) (
	[]driver.Difference, error,
) {
	if s.Channel.Exchange == "" {
		return nil, nil
	}
	d := driver.Difference{Channel: s.Channel, Resource: aSubscription, Name: q.ARN(), Note: slowly}
	if t == nil || t.subscriptions[q.ARN()] == "" {
		return []driver.Difference{d}, nil
	}
	arn := t.subscriptions[q.ARN()]
	wanted, err := p.Names.subscription(s, dead.ARN())
	if err != nil {
		return nil, err
	}
	if wanted["FilterPolicy"] == "" {
		wanted["FilterPolicy"] = filterpolicy.Everything
	}
	is, err := p.Topics.SubscriptionAttributes(ctx, t.Topic, arn)
	if err != nil {
		return nil, err
	}
	d.Name = arn
	return compared(d, is, wanted, func(_, is, wanted string) bool { return sameSetting(is, wanted) }), nil
}
