package estate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/internal/native"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// DefaultLease is the lease of a consumer that asks for none.
const DefaultLease = 30 * time.Second

// attributes returns the attributes that a queue of ours should have.
func attributes(s driver.ChannelSpec) map[string]string {
	keep := s.Retention
	if s.Channel.DeadLetter {
		keep = s.DeadRetention
	}
	a := map[types.QueueAttributeName]string{
		types.QueueAttributeNameMessageRetentionPeriod: seconds(cmp.Or(keep, wire.MaxRetention)),
	}
	if !s.Channel.DeadLetter {
		a[types.QueueAttributeNameVisibilityTimeout] = seconds(cmp.Or(s.Lease, DefaultLease))
		a[types.QueueAttributeNameDelaySeconds] = seconds(s.Delay + time.Second - 1) // never shorter than requested
	}
	if s.Encryption != "" {
		a[types.QueueAttributeNameKmsMasterKeyId] = s.Encryption
	} else {
		a[types.QueueAttributeNameSqsManagedSseEnabled] = "true"
	}
	if s.Channel.Ordered {
		a[types.QueueAttributeNameFifoQueue] = "true"
		a[types.QueueAttributeNameDeduplicationScope] = "queue"
		a[types.QueueAttributeNameFifoThroughputLimit] = "perQueue"
		if s.HighThroughput {
			a[types.QueueAttributeNameDeduplicationScope] = "messageGroup"
			a[types.QueueAttributeNameFifoThroughputLimit] = "perMessageGroupId"
		}
	}
	out := make(map[string]string, len(a))
	for name, value := range a {
		out[string(name)] = value
	}
	if !s.Channel.DeadLetter {
		maps.Copy(out, s.Native)
	}
	return out
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// queueSettings are all attributes of a queue that exists, but for its redrive policy. A topic may send to it.
func queueSettings(s driver.ChannelSpec, q *Queue, topicARN string) (map[string]string, error) {
	wanted := attributes(s)
	delete(wanted, string(types.QueueAttributeNameFifoQueue)) // it cannot be changed, and the name says it
	if s.Encryption == "" {
		wanted[string(types.QueueAttributeNameKmsMasterKeyId)] = "" // removes an existing key
	}
	statements := []statement{tlsOnly("sqs:*", q.ARN())}
	if topicARN != "" {
		statements = append(statements, fromTopic(q.ARN(), topicARN))
	}
	policy, err := mergePolicy(q.Policy(), statements...)
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.Name, err)
	}
	wanted[string(types.QueueAttributeNamePolicy)] = policy
	return wanted, nil
}

// redriveAttribute makes SQS itself move messages to the dead letters after too many receives. "" removes a policy.
func redriveAttribute(s driver.ChannelSpec, deadARN string) (map[string]string, error) {
	wanted := map[string]string{string(types.QueueAttributeNameRedrivePolicy): ""}
	if deadARN == "" || s.MaxReceives == 0 {
		return wanted, nil
	}
	policy, err := json.Marshal(redrivePolicy{deadARN, s.MaxReceives})
	wanted[string(types.QueueAttributeNameRedrivePolicy)] = string(policy)
	return wanted, err
}

// topicAttributes are the attributes with which a topic is created.
func topicAttributes(s driver.ChannelSpec) map[string]string {
	wanted := map[string]string{}
	if s.Encryption != "" {
		wanted["KmsMasterKeyId"] = s.Encryption
	}
	if s.Channel.Ordered {
		wanted["FifoTopic"] = "true"
		wanted["ContentBasedDeduplication"] = "false" // every message has its own id
		wanted["FifoThroughputScope"] = "Topic"
		if s.HighThroughput {
			wanted["FifoThroughputScope"] = "MessageGroup"
		}
	}
	if s.Channel.Queue == "" { // otherwise it is the specification of a queue, whose topic is created with it
		maps.Copy(wanted, s.Native)
	}
	return wanted
}

// topicSettings are the attributes of a topic that exists and can be changed.
func topicSettings(s driver.ChannelSpec, t *Topic) (map[string]string, error) {
	policy, err := t.securePolicy()
	wanted := topicAttributes(s)
	delete(wanted, "FifoTopic")
	delete(wanted, "ContentBasedDeduplication")
	wanted["KmsMasterKeyId"], wanted["Policy"] = s.Encryption, policy
	return wanted, err
}

// subscription returns the attributes that the subscription of a channel's queue should have.
func (n *Names) subscription(s driver.ChannelSpec, deadARN string) (map[string]string, error) {
	filter, err := filterpolicy.Of(s.Filter, n.Form(s.Channel).Routing)
	if err != nil {
		return nil, err
	}
	return subscriptionAttributes(filter, deadARN)
}

func subscriptionAttributes(filter, deadARN string) (map[string]string, error) {
	wanted := map[string]string{"RawMessageDelivery": "true"}
	if filter != filterpolicy.Everything {
		wanted["FilterPolicy"] = filter
	}
	if deadARN != "" {
		policy, err := json.Marshal(map[string]string{"deadLetterTargetArn": deadARN})
		if err != nil {
			return nil, err
		}
		wanted["RedrivePolicy"] = string(policy)
	}
	return wanted, nil
}

// sameAttribute compares two values of an attribute as SQS understands them. A policy is compared as JSON. A longer
// retention counts as equal, because lowering it would delete messages; so does a larger maxReceiveCount, because
// lowering it would dead-letter messages that were already received more often, without a reason.
func sameAttribute(name, is, wanted string) bool {
	switch types.QueueAttributeName(name) {
	case types.QueueAttributeNameSqsManagedSseEnabled, types.QueueAttributeNameDeduplicationScope,
		types.QueueAttributeNameFifoThroughputLimit:
		// AWS always returns these attributes. A server that does not is older than they are, and refuses to set them.
		if is == "" {
			return wanted == "true" || wanted == "queue" || wanted == "perQueue" // AWS's defaults
		}
	case types.QueueAttributeNameRedrivePolicy:
		if wanted == "" {
			return is == ""
		}
		a, oka := parseRedrive(is)
		b, okb := parseRedrive(wanted)
		return oka && okb && a.DeadLetterTargetArn == b.DeadLetterTargetArn && a.MaxReceiveCount >= b.MaxReceiveCount
	case types.QueueAttributeNamePolicy:
		return sameJSON(is, wanted)
	case types.QueueAttributeNameMessageRetentionPeriod:
		a, erra := strconv.Atoi(is)
		b, errb := strconv.Atoi(wanted)
		return erra == nil && errb == nil && a >= b
	}
	if a, known := native.Queue()[name]; known {
		return a.Same(is, wanted)
	}
	return strings.EqualFold(is, wanted)
}

// comparison is how two values of an attribute are compared in a mode.
func comparison(mode driver.Mode) func(name, is, wanted string) bool {
	if mode == driver.Declare {
		return exactlyAttribute
	}
	return sameAttribute
}

// exactlyAttribute compares as sameAttribute does, but a longer retention and a larger maxReceiveCount differ.
func exactlyAttribute(name, is, wanted string) bool {
	switch types.QueueAttributeName(name) {
	case types.QueueAttributeNameMessageRetentionPeriod:
		return is == wanted
	case types.QueueAttributeNameRedrivePolicy:
		a, _ := parseRedrive(is)
		b, _ := parseRedrive(wanted)
		return a == b
	}
	return sameAttribute(name, is, wanted)
}

// sameTopicAttribute compares two values of a topic's attribute as SNS understands them.
func sameTopicAttribute(name, is, wanted string) bool {
	switch {
	case name == "Policy":
		return sameJSON(is, wanted)
	case name == "FifoThroughputScope" && is == "":
		return wanted == "Topic" // SNS's default
	}
	if a, known := native.Topic()[name]; known {
		return a.Same(is, wanted)
	}
	return is == wanted
}

// sameSetting compares two values of a subscription attribute as SNS understands them.
func sameSetting(is, wanted string) bool {
	return is == wanted || sameJSON(is, wanted) || is == "" && wanted == filterpolicy.Everything
}

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

// Without returns the attributes that are set, without some names.
func Without(attributes map[string]string, names []string) map[string]string {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(name, value string) bool { return value == "" || slices.Contains(names, name) })
	return out
}
