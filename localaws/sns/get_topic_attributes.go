package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// GetTopicAttributesInput is the input of GetTopicAttributes.
type GetTopicAttributesInput struct {
	TopicArn *string `json:"TopicArn"`
}

// GetTopicAttributesOutput is the output of GetTopicAttributes.
type GetTopicAttributesOutput struct {
	Attributes map[string]string `json:"Attributes"`
}

// getTopicAttributes shows the policy as it was set and the effective delivery policy with its defaults. It also counts
// the subscriptions: confirmed, pending, and deleted (AWS's API reference).
func (s *Service) getTopicAttributes(_ context.Context, c *wire.Call,
	in *GetTopicAttributesInput,
) (*GetTopicAttributesOutput, error) {
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
	return &GetTopicAttributesOutput{Attributes: t.shown(s.opts.Account)}, nil
}
