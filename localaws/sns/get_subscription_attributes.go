package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

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
func (s *Service) getSubscriptionAttributes(_ context.Context, c *wire.Call,
	in *GetSubscriptionAttributesInput,
) (*GetSubscriptionAttributesOutput, error) {
	arn, fault := s.subscriptionARN(c, in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	sub, ok := s.subscriptions[arn]
	if !ok {
		return nil, noSubscription()
	}
	s.touch(s.topics[sub.topicARN])
	return &GetSubscriptionAttributesOutput{Attributes: s.shown(sub)}, nil
}
