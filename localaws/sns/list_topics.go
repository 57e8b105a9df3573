package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListTopicsInput is the input of ListTopics.
type ListTopicsInput struct {
	NextToken *string `json:"NextToken"`
}

// ListTopicsOutput is the output of ListTopics.
type ListTopicsOutput struct {
	Topics    []TopicEntry `json:"Topics"`
	NextToken string       `json:"NextToken"`
}

// TopicEntry is one topic of a list.
type TopicEntry struct {
	TopicArn string `json:"TopicArn"`
}

// listTopics lists 100 topics a page, without their attributes (AWS's API reference, ListTopics).
func (s *Service) listTopics(_ context.Context, _ *wire.Call, in *ListTopicsInput) (*ListTopicsOutput, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	topics, next, fault := page(s.inOrder(), func(t *topic) uint64 { return t.number }, in.NextToken)
	if fault != nil {
		return nil, fault
	}
	out := &ListTopicsOutput{Topics: []TopicEntry{}, NextToken: next}
	for _, t := range topics {
		out.Topics = append(out.Topics, TopicEntry{TopicArn: t.arn})
	}
	return out, nil
}
