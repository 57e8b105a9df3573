package sns

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListTagsForResourceInput is the input of ListTagsForResource.
type ListTagsForResourceInput struct {
	ResourceArn *string `json:"ResourceArn"`
}

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `json:"Tags"`
}

// listTagsForResource is of topics only, and does not distinguish a missing topic from a resource of another kind
// (AWS's API reference, ListTagsForResource).
func (s *Service) listTagsForResource(_ context.Context, c *wire.Call,
	in *ListTagsForResourceInput,
) (*ListTagsForResourceOutput, error) {
	arn, fault := s.topicARN(c, "ResourceArn", in.ResourceArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.topics[arn]
	if !ok {
		return nil, noResource()
	}
	s.touch(t)
	return &ListTagsForResourceOutput{Tags: tagList(t.tags)}, nil
}
