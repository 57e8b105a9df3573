package sns

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/filter"
	"github.com/godwitmq/godwit/localaws/wire"
)

// SubscribeInput is the input of Subscribe.
type SubscribeInput struct {
	TopicArn              *string           `json:"TopicArn"`
	Protocol              string            `json:"Protocol"`
	Endpoint              string            `json:"Endpoint"`
	Attributes            map[string]string `json:"Attributes"`
	ReturnSubscriptionArn bool              `json:"ReturnSubscriptionArn"`
}

// SubscribeOutput is the output of Subscribe.
type SubscribeOutput struct {
	SubscriptionArn string `json:"SubscriptionArn"`
}

// elsewhere are SNS's protocols that this server cannot deliver to.
var elsewhere = []string{"application", "email", "email-json", "firehose", "lambda", "sms"}

// subscribe subscribes a queue at once; an http or https endpoint has to confirm first.
func (s *Service) subscribe(_ context.Context, c *wire.Call, in *SubscribeInput) (*SubscribeOutput, error) {
	arn, fault := s.topicARN("TopicArn", "Subscribe", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	if in.Protocol == "" {
		return nil, invalid("Protocol Reason: no value for required parameter")
	}
	sub, fault := s.subscribed(arn, in)
	if fault != nil {
		return nil, fault
	}
	if in.Protocol != "sqs" && !s.isConfirmed(sub) {
		s.askForConfirmation(sub, c.BaseURL)
		if !in.ReturnSubscriptionArn {
			return &SubscribeOutput{SubscriptionArn: pendingConfirmation}, nil
		}
	}
	return &SubscribeOutput{SubscriptionArn: sub.arn}, nil
}

// smsForm is SNS's form of a subscribing telephone number: separators are allowed between its digits.
var smsForm = regexp.MustCompile(`^\+?[0-9]+([./-][0-9]+)*$`)

// checkProtocol refuses protocols that this server does not deliver to, and wrong telephone numbers in SNS's words.
func checkProtocol(protocol, endpoint string) *wire.Error {
	switch {
	case protocol == "sqs" || protocol == "http" || protocol == "https":
		return nil
	case protocol == "sms" && !smsForm.MatchString(endpoint):
		return &wire.Error{Code: "InvalidParameter", Message: "Invalid SMS endpoint: " + endpoint}
	case slices.Contains(elsewhere, protocol):
		return invalid("Protocol Reason: this server delivers to sqs, http and https only, not to %s", protocol)
	}
	return invalid("Amazon SNS does not support this protocol string: %s", protocol)
}

// subscribed returns the existing subscription that the request describes, or a new one.
func (s *Service) subscribed(arn string, in *SubscribeInput) (*subscription, *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	if fault := checkProtocol(in.Protocol, in.Endpoint); fault != nil {
		return nil, fault
	}
	if fault := t.checkEndpoint(in.Protocol, in.Endpoint); fault != nil {
		return nil, fault
	}
	wished, fault := wishedSettings(in, t)
	if fault != nil {
		return nil, fault
	}
	for _, old := range t.subscriptions {
		if old.protocol == in.Protocol && old.endpoint == in.Endpoint {
			return old, old.settings.alike(wished, in.Attributes)
		}
	}
	if fault := t.roomForSubscription(wished); fault != nil {
		return nil, fault
	}
	atOnce := in.Protocol == "sqs"
	sub := &subscription{
		arn: arn + ":" + s.opts.Random.UUID(), topicARN: arn, protocol: in.Protocol, endpoint: in.Endpoint,
		confirmed: atOnce, authenticated: atOnce, settings: wished,
	}
	s.add(t, sub)
	return sub, nil
}

func wishedSettings(in *SubscribeInput, t *topic) (*settings, *wire.Error) {
	wished := &settings{scope: filter.MessageAttributes}
	for name := range in.Attributes {
		if !slices.Contains(settingOrder, name) {
			_, fault := wished.with(name, "", t, in.Protocol, in.Endpoint)
			return nil, attributesReason(name, fault)
		}
	}
	for _, name := range settingOrder {
		value, given := in.Attributes[name]
		if !given {
			continue
		}
		var fault *wire.Error
		if wished, fault = wished.with(name, value, t, in.Protocol, in.Endpoint); fault != nil {
			return nil, attributesReason(name, fault)
		}
	}
	return wished, nil
}

func (t *topic) checkEndpoint(protocol, endpoint string) *wire.Error {
	if protocol == "sqs" {
		switch {
		case !isQueueARN(endpoint):
			return invalid("SQS endpoint ARN")
		case strings.HasSuffix(endpoint, ".fifo") && !t.fifo:
			// SNS's own text has the doubled words.
			return invalid("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard " +
				"SNS topics")
		}
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case t.fifo:
		return invalid("Invalid protocol type: %s", protocol)
	case err != nil || u.Scheme != protocol || u.Host == "":
		return invalid("Endpoint must match the specified protocol")
	case t.maximumSize() > defaultMaximumSize:
		return invalid("Protocol Reason: a topic with a MaximumMessageSize above %d does not support %s subscriptions",
			defaultMaximumSize, protocol)
	}
	return nil
}

// maxFilters is how many subscriptions of a topic may have a filter policy.
const maxFilters = 200

func (t *topic) roomForSubscription(wished *settings) *wire.Error {
	switch n := len(t.subscriptions); {
	case t.fifo && n >= maxFIFOSubscribed:
		return limitExceeded("SubscriptionLimitExceeded", "Subscription limit exceeded")
	case n >= maxLargeSubscribed && t.maximumSize() > defaultMaximumSize:
		return invalid("TopicArn Reason: a topic with a MaximumMessageSize above %d must have %d or fewer subscriptions", defaultMaximumSize, maxLargeSubscribed)
	case wished.filter != nil:
		return t.roomForFilter()
	}
	return nil
}

func (t *topic) roomForFilter() *wire.Error {
	filters := 0
	for _, sub := range t.subscriptions {
		if sub.settings.filter != nil {
			filters++
		}
	}
	if filters >= maxFilters {
		return limitExceeded("FilterPolicyLimitExceeded", "Filter policy limit exceeded")
	}
	return nil
}

// alike returns an error if the request to subscribe again has different attributes; missing ones are allowed.
func (n *settings) alike(wished *settings, given map[string]string) *wire.Error {
	same := map[string]bool{
		rawMessageDelivery: n.raw == wished.raw,
		filterPolicy:       n.filterText == wished.filterText,
		filterPolicyScope:  n.scope == wished.scope,
		redrivePolicy:      n.deadLetter == wished.deadLetter,
		deliveryPolicy:     asJSON(n.delivery) == asJSON(wished.delivery),
	}
	for name := range given {
		if !same[name] {
			return invalid("Attributes Reason: Subscription already exists with different attributes")
		}
	}
	return nil
}

func (s *Service) isConfirmed(sub *subscription) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sub.confirmed
}
