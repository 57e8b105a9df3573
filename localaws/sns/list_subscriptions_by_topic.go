package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListSubscriptionsByTopicInput is the input of ListSubscriptionsByTopic.
type ListSubscriptionsByTopicInput struct {
	TopicArn  *string `json:"TopicArn"`
	NextToken *string `json:"NextToken"`
}

// listSubscriptionsByTopic lists pending subscriptions, too, with PendingConfirmation in place of their ARN, 100 a page
// (AWS's API reference, ListSubscriptionsByTopic).
func (s *Service) listSubscriptionsByTopic(_ context.Context, c *wire.Call,
	in *ListSubscriptionsByTopicInput,
) (*ListSubscriptionsOutput, error) {
	arn, fault := s.topicARN(c, "TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	all := make([]numbered, 0, len(t.subscriptions))
	for _, sub := range t.subscriptions {
		all = append(all, numbered{sub.entry(), sub.number})
	}
	return list(all, in.NextToken)
}
