package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// UnsubscribeInput is the input of Unsubscribe.
type UnsubscribeInput struct {
	SubscriptionArn *string `json:"SubscriptionArn"`
}

// UnsubscribeOutput is the empty output of Unsubscribe.
type UnsubscribeOutput struct{}

// unsubscribe deletes a subscription; deleting one that does not exist succeeds. An endpoint that had to confirm is
// notified, with a token that restores the subscription.
func (s *Service) unsubscribe(_ context.Context, c *wire.Call, in *UnsubscribeInput) (*UnsubscribeOutput, error) {
	arn, fault := s.subscriptionARN(c, in.SubscriptionArn)
	if fault != nil {
		return nil, fault
	}
	sub, fault := s.unsubscribed(c, arn)
	if fault != nil {
		return nil, fault
	}
	if sub != nil && !sub.of().atOnce {
		s.tellCanceled(sub, c.BaseURL)
	}
	return &UnsubscribeOutput{}, nil
}

// unsubscribed removes the subscription and returns it, or returns nil if it does not exist.
func (s *Service) unsubscribed(c *wire.Call, arn string) (*subscription, *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subscriptions[arn]
	if ok {
		s.touch(s.topics[sub.topicARN])
	}
	switch {
	case !ok:
		return nil, nil
	case !sub.confirmed:
		// Terraform's provider looks for this text, and destroys the subscription with its topic.
		return nil, invalid("SubscriptionArn Reason: Cannot unsubscribe a subscription that is pending confirmation")
	case sub.locked && c.Caller == "":
		return nil, unauthorized(c.Account, c.Action, arn)
	}
	s.remove(sub)
	return sub, nil
}
