package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// SetSubscriptionAttributesInput is the input of SetSubscriptionAttributes.
type SetSubscriptionAttributesInput struct {
	SubscriptionArn *string `json:"SubscriptionArn"`
	AttributeName   string  `json:"AttributeName"`
	AttributeValue  string  `json:"AttributeValue"`
}

// SetSubscriptionAttributesOutput is the empty output of SetSubscriptionAttributes.
type SetSubscriptionAttributesOutput struct{}

// setSubscriptionAttributes changes one attribute. AWS takes up to 15 minutes for a filter policy; here it counts from
// the next message (AWS's developer guide, subscription filter policies).
func (s *Service) setSubscriptionAttributes(_ context.Context, c *wire.Call,
	in *SetSubscriptionAttributesInput,
) (*SetSubscriptionAttributesOutput, error) {
	arn, fault := s.subscriptionARN(c, in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subscriptions[arn]
	if !ok {
		return nil, noSubscription()
	}
	s.touch(s.topics[sub.topicARN])
	t := s.topics[sub.topicARN]
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
	s.records.subscription(sub, true)
	return &SetSubscriptionAttributesOutput{}, nil
}
