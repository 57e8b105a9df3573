package sns

import (
	"context"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Wire returns SNS's actions. where returns the service of the place that a call is for: the topic's place.
func Wire(where func(*wire.Call) (*Service, error)) *wire.Service {
	return &wire.Service{
		Name:    "sns",
		Version: "2010-03-31",
		XMLNS:   "http://sns.amazonaws.com/doc/2010-03-31/",
		Names:   []string{"TopicArn", "TargetArn", "SubscriptionArn", "ResourceArn"},
		Actions: []wire.Action{
			onARN(where, "AddPermission", addPermission),
			inPlace(where, "CheckIfPhoneNumberIsOptedOut", checkIfPhoneNumberIsOptedOut),
			inPlace(where, "ConfirmSubscription", confirmSubscription),
			inPlace(where, "CreateTopic", createTopic),
			onARN(where, "DeleteTopic", deleteTopic),
			inPlace(where, "GetSubscriptionAttributes", getSubscriptionAttributes),
			onTopic(where, "GetTopicAttributes", getTopicAttributes),
			inPlace(where, "ListPhoneNumbersOptedOut", listPhoneNumbersOptedOut),
			inPlace(where, "ListSubscriptions", listSubscriptions),
			onTopic(where, "ListSubscriptionsByTopic", listSubscriptionsByTopic),
			onTopic(where, "ListTagsForResource", listTagsForResource),
			inPlace(where, "ListTopics", listTopics),
			inPlace(where, "OptInPhoneNumber", optInPhoneNumber).WithResult(),
			inPlace(where, "Publish", publish),
			inPlace(where, "PublishBatch", publishBatch),
			onTopic(where, "RemovePermission", removePermission),
			inPlace(where, "SetSubscriptionAttributes", setSubscriptionAttributes),
			onTopic(where, "SetTopicAttributes", setTopicAttributes),
			onARN(where, "Subscribe", subscribe),
			onARN(where, "TagResource", tagResource).WithResult(),
			inPlace(where, "Unsubscribe", unsubscribe),
			onTopic(where, "UntagResource", untagResource).WithResult(),
		},
	}
}

// Empty is the output of actions without output.
type Empty struct{}

// call is a call in the place of its topics.
type call struct {
	*wire.Call
	ctx context.Context // ends a publish that has not been delivered
	at  *Service
}

// inPlace returns an action that is not about one topic, or finds its topic itself.
func inPlace[I, O any](where func(*wire.Call) (*Service, error), name string, action func(call, *I) (*O, error),
) wire.Action {
	return wire.Op(name, wire.In(where, func(s *Service, ctx context.Context, c *wire.Call, in *I) (*O, error) {
		return action(call{c, ctx, s}, in)
	}))
}

// TopicInput is the part of an input that names a topic.
type TopicInput struct {
	TopicArn *string `json:"TopicArn"`
}

func (in *TopicInput) topic() named { return named{"TopicArn", in.TopicArn, noTopic} }

// ResourceInput is the part of an input that names a topic as a resource with tags.
type ResourceInput struct {
	ResourceArn *string `json:"ResourceArn"`
}

func (in *ResourceInput) topic() named { return named{"ResourceArn", in.ResourceArn, noResource} }

// named is a topic as an input names it.
type named struct {
	parameter string
	arn       *string
	missing   func() *wire.Error // the error if there is no such topic
}

// onOne is a pointer to an input that names a topic.
type onOne[I any] interface {
	*I
	topic() named
}

// onARN returns an action on a topic that need not exist. The caller may call it.
func onARN[I, O any, P onOne[I]](where func(*wire.Call) (*Service, error), name string,
	action func(call, string, P) (*O, error),
) wire.Action {
	return inPlace(where, name, func(c call, in *I) (*O, error) {
		n := P(in).topic()
		arn, fault := c.topicARN(n.parameter, n.arn)
		if fault != nil {
			return nil, fault
		}
		return action(c, arn, in)
	})
}

// onTopic returns an action on an existing topic, which is called with the lock held.
func onTopic[I, O any, P onOne[I]](where func(*wire.Call) (*Service, error), name string,
	action func(call, *topic, P) (*O, error),
) wire.Action {
	return onARN(where, name, func(c call, arn string, in P) (*O, error) {
		c.at.mu.Lock()
		defer c.at.mu.Unlock()
		t, fault := c.at.topic(arn)
		if fault != nil {
			return nil, in.topic().missing()
		}
		return action(c, t, in)
	})
}

// topicARN checks a topic's ARN, and that the caller may call the action. It does not check that the topic exists.
func (c call) topicARN(parameter string, value *string) (string, *wire.Error) {
	parts, fault := parseARN(parameter, value)
	if fault == nil {
		fault = c.ours(parameter, parts)
	}
	if fault != nil {
		return "", fault
	}
	c.at.mu.RLock()
	t, there := c.at.topics[*value]
	allowed, denied := c.Account == c.at.opts.Account, false
	if there && !allowed {
		allowed, denied = t.decides(c)
	}
	c.at.mu.RUnlock()
	if !there {
		c.missing(*value)
	}
	if !allowed {
		return *value, c.refusal(*value, denied)
	}
	return *value, nil
}

// subscriptionARN checks a subscription's ARN, and that the caller owns the subscription or its topic. It does not
// check that the subscription exists.
func (c call) subscriptionARN(value *string) (string, *wire.Error) {
	if value == nil || *value == "" {
		return "", invalid("SubscriptionArn Reason: no value for required parameter")
	}
	parts, fault := parseARN("SubscriptionArn", value)
	if fault != nil {
		return "", fault
	}
	if len(parts) != arnElements+1 || !uuidForm.MatchString(parts[arnElements]) {
		return "", invalid("SubscriptionId")
	}
	if fault := c.ours("SubscriptionArn", parts); fault != nil {
		return "", fault
	}
	if c.Account != c.at.opts.Account && !c.at.owns(c.Account, *value) {
		return *value, c.refusal(*value, false)
	}
	return *value, nil
}

// ours checks that a parsed ARN belongs to this service, region and account.
func (c call) ours(parameter string, parts []string) *wire.Error {
	switch {
	case parts[0] != "arn" || parts[2] != "sns":
		return invalid("%s", parameter)
	case parts[3] != c.at.opts.Region:
		c.missing(strings.Join(parts, ":"))
		return invalid("%s", parameter)
	case parts[4] != c.at.opts.Account:
		return unauthorized(c.Account, c.Action, strings.Join(parts, ":"))
	}
	return nil
}

// missing reports a topic that a call names and that is not here. The caller holds no lock.
func (c call) missing(arn string) {
	if c.at.opts.Missing != nil {
		c.at.opts.Missing(arn)
	}
}

// refusal returns the error of a caller that no policy allows an action; nil: policies are lenient, and none denies it.
func (c call) refusal(arn string, denied bool) *wire.Error {
	fault := unauthorized(c.Account, c.Action, arn)
	if !denied && c.at.opts.Leniency.Permits(fault.Message) {
		return nil
	}
	return fault
}

// parseARN splits an ARN of this service. parameter is its name in the error.
func parseARN(parameter string, value *string) ([]string, *wire.Error) {
	if value == nil {
		return nil, invalid("%s Reason: no value for required parameter", parameter)
	}
	parts := strings.Split(*value, ":")
	if len(parts) < arnElements {
		return nil, invalid("%s Reason: An ARN must have at least %d elements, not %d", parameter, arnElements,
			len(parts))
	}
	return parts, nil
}
