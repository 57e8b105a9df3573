package sns

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListSubscriptionsByTopicInput is the input of ListSubscriptionsByTopic.
type ListSubscriptionsByTopicInput struct {
	TopicArn  *string `json:"TopicArn"`
	NextToken *string `json:"NextToken"`
}

func (s *Service) listSubscriptionsByTopic(_ context.Context, _ *wire.Call,
	in *ListSubscriptionsByTopicInput,
) (*ListSubscriptionsOutput, error) {
	arn, fault := s.topicARN("TopicArn", "ListSubscriptionsByTopic", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	return s.list(slices.Clone(t.subscriptions), in.NextToken)
}
