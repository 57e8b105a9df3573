package sns

import (
	"context"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceArn *string  `json:"ResourceArn"`
	TagKeys     []string `json:"TagKeys"`
}

// UntagResourceOutput is the empty output of UntagResource.
type UntagResourceOutput struct{}

// untagResource removes tags; keys that the topic does not have are ignored (AWS's API reference, UntagResource).
func (s *Service) untagResource(_ context.Context, c *wire.Call, in *UntagResourceInput) (*UntagResourceOutput, error) {
	arn, fault := s.topicARN(c, "ResourceArn", in.ResourceArn)
	if fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.topics[arn]
	if !ok {
		return nil, noResource()
	}
	s.touch(t)
	tags := maps.Clone(t.tags)
	maps.DeleteFunc(tags, func(k, _ string) bool { return slices.Contains(in.TagKeys, k) })
	t.tags = tags
	s.records.topic(t)
	return &UntagResourceOutput{}, nil
}
