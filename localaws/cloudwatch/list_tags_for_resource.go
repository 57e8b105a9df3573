package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// ListTagsForResourceInput is the input of ListTagsForResource.
type ListTagsForResourceInput struct {
	ResourceARN string `json:"ResourceARN"`
}

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `json:"Tags"`
}

// listTagsForResource is of alarms only; on AWS also of rules of Contributor Insights.
func (s *Service) listTagsForResource(_ context.Context, _ *wire.Call, in *ListTagsForResourceInput,
) (*ListTagsForResourceOutput, error) {
	if in.ResourceARN == "" {
		return nil, required("ResourceARN")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.alarmByARN(in.ResourceARN)
	if a == nil {
		return nil, noResource(in.ResourceARN)
	}
	return &ListTagsForResourceOutput{Tags: tagList(a.tags)}, nil
}
