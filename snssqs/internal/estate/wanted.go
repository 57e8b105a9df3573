package estate

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// Wanted is driver.Operations.Wanted.
func (e *Estate) Wanted(specs []driver.ChannelSpec, address func(resource, name string) string) (
	all []driver.WantedResource, err error,
) {
	for _, s := range specs {
		if err := e.Legal(s); err != nil {
			return nil, &driver.Error{Class: driver.Permanent, Err: err}
		}
		some, err := e.wantedOf(s, address)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// wantedOf returns the resources of one channel: a topic, or a queue with its dead letters and its subscription.
func (e *Estate) wantedOf(s driver.ChannelSpec, address func(resource, name string) string) (
	all []driver.WantedResource, err error,
) {
	if _, foreign := e.Mapping(s.Channel); foreign {
		return nil, nil
	}
	topicARN := ""
	if s.Channel.Exchange != "" {
		name, err := e.TopicName(s.Channel)
		if err != nil {
			return nil, err
		}
		topicARN = address(aTopic, name)
		if r, foreign := e.Mapping(ExchangeOf(s.Channel)); foreign {
			topicARN = r.Topic
		}
		if s.Channel.Queue == "" {
			one, err := e.wantedTopic(s, name, topicARN)
			return []driver.WantedResource{one}, err
		}
	}
	deadARN := ""
	if !s.NoDeadLetters {
		letters := s
		letters.Channel = DeadLettersOf(s.Channel)
		dead, err := e.wantedQueue(letters, topicARN, address)
		if err != nil {
			return nil, err
		}
		deadARN, all = address(aQueue, dead.Name), append(all, dead)
	}
	q, err := e.wantedQueue(s, topicARN, address)
	if err != nil {
		return nil, err
	}
	redrive, err := redriveAttribute(s, deadARN)
	if err != nil {
		return nil, err
	}
	maps.Copy(q.Attributes, Without(redrive, nil))
	if all = append(all, q); topicARN == "" {
		return all, nil
	}
	attributes, err := e.subscription(s, deadARN)
	if err != nil {
		return nil, err
	}
	attributes["TopicArn"], attributes["Endpoint"] = topicARN, address(aQueue, q.Name)
	return append(all, driver.WantedResource{
		Channel: s.Channel, Resource: aSubscription, Name: q.Name, Attributes: attributes,
	}), nil
}

func (e *Estate) wantedTopic(s driver.ChannelSpec, name, arn string) (driver.WantedResource, error) {
	attributes, err := topicSettings(s, &Topic{Name: name, ARN: arn})
	maps.Copy(attributes, topicAttributes(s))
	return driver.WantedResource{
		Channel: ExchangeOf(s.Channel), Resource: aTopic, Name: name, Attributes: Without(attributes, nil),
		Tags: e.Tags(ExchangeOf(s.Channel), s.Tags),
	}, err
}

func (e *Estate) wantedQueue(s driver.ChannelSpec, topicARN string,
	address func(resource, name string) string,
) (one driver.WantedResource, err error) {
	one.Channel, one.Resource, one.Tags = s.Channel, aQueue, e.Tags(s.Channel, s.Tags)
	if one.Name, err = e.QueueName(s.Channel); err != nil {
		return one, err
	}
	if s.Channel.DeadLetter {
		one.Channel.DeadLetter, one.Resource = false, aDeadQueue
	}
	q := &Queue{Name: one.Name, Attributes: map[string]string{
		string(types.QueueAttributeNameQueueArn): address(aQueue, one.Name),
	}}
	attributes, err := queueSettings(s, q, topicARN)
	if s.Channel.Ordered && err == nil {
		attributes[string(types.QueueAttributeNameFifoQueue)] = "true"
	}
	one.Attributes = Without(attributes, nil)
	return one, err
}

// Without returns the attributes that are set and are none of some names.
func Without(attributes map[string]string, names []string) map[string]string {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(name, value string) bool { return value == "" || slices.Contains(names, name) })
	return out
}
