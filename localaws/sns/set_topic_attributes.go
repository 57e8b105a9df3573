package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// SetTopicAttributesInput is the input of SetTopicAttributes.
type SetTopicAttributesInput struct {
	TopicArn       *string `json:"TopicArn"`
	AttributeName  string  `json:"AttributeName"`
	AttributeValue string  `json:"AttributeValue"`
}

// SetTopicAttributesOutput is the empty output of SetTopicAttributes.
type SetTopicAttributesOutput struct{}

// setTopicAttributes changes one attribute. FifoTopic cannot be changed, and MaximumMessageSize above 256 KiB restricts
// the topic's subscriptions (What's New of AWS, September 2026).
func (s *Service) setTopicAttributes(_ context.Context, c *wire.Call,
	in *SetTopicAttributesInput,
) (*SetTopicAttributesOutput, error) {
	arn, fault := s.topicARN(c, "TopicArn", in.TopicArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, fault := s.topic(arn)
	if fault != nil {
		return nil, fault
	}
	if fault := t.set(in.AttributeName, in.AttributeValue); fault != nil {
		return nil, fault
	}
	s.records.topic(t)
	return &SetTopicAttributesOutput{}, nil
}
