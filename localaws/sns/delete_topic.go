package sns

import (
	"context"
	"maps"

	"github.com/godwitmq/godwit/localaws/wire"
)

// DeleteTopicInput is the input of DeleteTopic.
type DeleteTopicInput struct {
	TopicArn *string `json:"TopicArn"`
}

// DeleteTopicOutput is the empty output of DeleteTopic.
type DeleteTopicOutput struct{}

// deleteTopic deletes a topic and its subscriptions. Deleting a topic that does not exist succeeds (AWS's API
// reference, DeleteTopic).
func (s *Service) deleteTopic(_ context.Context, c *wire.Call, in *DeleteTopicInput) (*DeleteTopicOutput, error) {
	arn, fault := s.topicARN(c, "TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.topics[arn]; ok {
		for _, sub := range t.subscriptions {
			s.forget(sub)
			s.records.dropSubscription(sub)
		}
		s.records.dropTopic(t)
		delete(s.topics, arn)
		t.meter.end()
		// A subscription of this topic cannot be restored for another topic of the same name.
		maps.DeleteFunc(s.tokens, func(_ string, sub *subscription) bool {
			if sub.topicARN == arn {
				s.records.dropSubscription(sub)
			}
			return sub.topicARN == arn
		})
	}
	return &DeleteTopicOutput{}, nil
}
