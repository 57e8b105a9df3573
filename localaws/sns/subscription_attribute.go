package sns

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/sns/jsontext"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The attributes of a subscription, except DeliveryPolicy.
const (
	filterPolicy       = "FilterPolicy"
	filterPolicyScope  = "FilterPolicyScope"
	rawMessageDelivery = "RawMessageDelivery"
	redrivePolicy      = "RedrivePolicy"
	subscriptionRole   = "SubscriptionRoleArn"
)

// settingOrder is the order in which several attributes are applied, because a policy is compiled for its scope.
var settingOrder = []string{
	filterPolicyScope, filterPolicy, rawMessageDelivery, redrivePolicy, deliveryPolicy, subscriptionRole,
}

// with returns the settings with one attribute changed. t is the subscription's topic.
func (n *settings) with(name, value string, t *topic, protocol, endpoint string) (*settings, *wire.Error) {
	changed := *n
	var fault *wire.Error
	switch name {
	case rawMessageDelivery:
		fault = changed.setRaw(value)
	case filterPolicyScope:
		fault = changed.setScope(value)
	case filterPolicy:
		fault = changed.setFilter(value)
	case redrivePolicy:
		fault = changed.setRedrive(value, t, endpoint)
	case deliveryPolicy:
		if !protocols[protocol].overHTTP {
			return nil, invalid("DeliveryPolicy is only supported for http and https subscriptions")
		}
		changed.delivery, fault = parseDelivery(value)
	case subscriptionRole:
		fault = changed.setRole(value, protocol)
	default:
		if slices.Contains(unsupported, name) {
			return nil, invalid("%s is not supported by this server", name)
		}
		return nil, invalid(unknownAttribute)
	}
	if fault != nil {
		return nil, fault
	}
	return &changed, nil
}

func (n *settings) setRaw(value string) *wire.Error {
	lower := strings.ToLower(value)
	if lower != "true" && lower != "false" {
		return invalid("RawMessageDelivery: Invalid value [%s]. Must be true or false.", value)
	}
	n.raw = lower == "true"
	return nil
}

func (n *settings) setScope(value string) *wire.Error {
	scope := filter.Scope(value)
	if scope != filter.MessageAttributes && scope != filter.MessageBody {
		return invalid("FilterPolicyScope: Invalid value [%s]. Please use either MessageBody or MessageAttributes",
			value)
	}
	n.scope = scope
	return n.setFilter(n.filterText)
}

// setFilter compiles a filter policy; "" and {} remove it.
func (n *settings) setFilter(text string) *wire.Error {
	if compact, err := jsontext.Compact(text); text == "" || err == nil && compact == "{}" {
		n.filter, n.filterText = nil, ""
		return nil
	}
	p, err := filter.Compile(text, n.scope)
	if err != nil {
		return invalid("%s", err.Error())
	}
	n.filter, n.filterText = p, text
	return nil
}

// setRedrive sets the dead-letter queue, or removes it if text is "".
func (n *settings) setRedrive(text string, t *topic, endpoint string) *wire.Error {
	if text == "" {
		n.redrive, n.deadLetter = "", ""
		return nil
	}
	var e *jsontext.Error
	if _, err := jsontext.Compact(text); errors.As(err, &e) {
		return invalid("RedrivePolicy: failed to parse JSON. %s", e.Error())
	}
	var given struct{ DeadLetterTargetArn string }
	if json.Unmarshal([]byte(text), &given) != nil || !isQueueARN(given.DeadLetterTargetArn) {
		return invalid("RedrivePolicy: deadLetterTargetArn is an invalid arn")
	}
	deadFIFO := strings.HasSuffix(given.DeadLetterTargetArn, ".fifo")
	switch {
	case t.fifo && strings.HasSuffix(endpoint, ".fifo") && !deadFIFO:
		return invalid("RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")
	case !t.fifo && deadFIFO:
		return invalid("RedrivePolicy: must use a standard queue as DLQ for a subscription to a standard topic.")
	}
	n.redrive, n.deadLetter = text, given.DeadLetterTargetArn
	return nil
}

// checkPlace checks that the dead-letter queue is in the account and the region of the subscription, as SNS requires.
func (n *settings) checkPlace(topicARN, owner string) *wire.Error {
	at, known := wire.PlaceOf(topicARN)
	dead, valid := wire.PlaceOf(n.deadLetter)
	if known && valid && (dead.Region != at.Region || dead.Account != owner) {
		return invalid("RedrivePolicy: the dead-letter queue must be in the account and the region of the subscription")
	}
	return nil
}

// setRole sets the role as which SNS would deliver to Firehose.
func (n *settings) setRole(value, protocol string) *wire.Error {
	switch {
	case protocol != "firehose":
		return invalid("%s is only supported for firehose subscriptions", subscriptionRole)
	case !strings.HasPrefix(value, "arn:") || !strings.Contains(value, ":role/"):
		return invalid("%s: %q is not the ARN of a role", subscriptionRole, value)
	}
	n.role = value
	return nil
}

func isQueueARN(text string) bool {
	parts := strings.Split(text, ":")
	return len(parts) == arnElements && parts[0] == "arn" && parts[2] == "sqs" && parts[5] != ""
}

// GetSubscriptionAttributesInput is the input of GetSubscriptionAttributes.
type GetSubscriptionAttributesInput struct {
	SubscriptionArn *string `json:"SubscriptionArn"`
}

// GetSubscriptionAttributesOutput is the output of GetSubscriptionAttributes.
type GetSubscriptionAttributesOutput struct {
	Attributes map[string]string `json:"Attributes"`
}

// getSubscriptionAttributes shows booleans and JSON as texts, and attributes that were never set only if they have a
// default (AWS's API reference).
func getSubscriptionAttributes(c call, in *GetSubscriptionAttributesInput) (*GetSubscriptionAttributesOutput, error) {
	arn, fault := c.subscriptionARN(in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	c.at.mu.RLock()
	defer c.at.mu.RUnlock()
	sub, ok := c.at.subscriptions[arn]
	if !ok {
		return nil, noSubscription()
	}
	c.at.touch(c.at.topics[sub.topicARN])
	return &GetSubscriptionAttributesOutput{Attributes: c.at.shown(sub)}, nil
}

// SetSubscriptionAttributesInput is the input of SetSubscriptionAttributes.
type SetSubscriptionAttributesInput struct {
	SubscriptionArn *string `json:"SubscriptionArn"`
	AttributeName   string  `json:"AttributeName"`
	AttributeValue  string  `json:"AttributeValue"`
}

// setSubscriptionAttributes changes one attribute. AWS takes up to 15 minutes for a filter policy; here it counts from
// the next message (AWS's developer guide, subscription filter policies).
func setSubscriptionAttributes(c call, in *SetSubscriptionAttributesInput) (*Empty, error) {
	arn, fault := c.subscriptionARN(in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	sub, ok := c.at.subscriptions[arn]
	if !ok {
		return nil, noSubscription()
	}
	c.at.touch(c.at.topics[sub.topicARN])
	t := c.at.topics[sub.topicARN]
	changed, fault := sub.settings.with(in.AttributeName, in.AttributeValue, t, sub.protocol, sub.endpoint)
	if fault == nil {
		fault = changed.checkPlace(sub.topicARN, sub.owner)
	}
	if fault != nil {
		return nil, fault
	}
	if changed.filter != nil && sub.settings.filter == nil {
		if fault := t.roomForFilter(); fault != nil {
			return nil, fault
		}
	}
	sub.settings = changed
	c.at.records.subscription(sub, true)
	return &Empty{}, nil
}
