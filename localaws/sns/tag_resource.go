package sns

import (
	"context"
	"maps"

	"github.com/godwitmq/godwit/localaws/wire"
)

// TagResourceInput is the input of TagResource.
type TagResourceInput struct {
	ResourceArn *string `json:"ResourceArn"`
	Tags        []Tag   `json:"Tags"`
}

// TagResourceOutput is the empty output of TagResource.
type TagResourceOutput struct{}

// tagResource adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference,
// TagResource).
func (s *Service) tagResource(_ context.Context, c *wire.Call, in *TagResourceInput) (*TagResourceOutput, error) {
	arn, fault := s.topicARN(c, "ResourceArn", in.ResourceArn)
	if fault != nil {
		return nil, fault
	}
	added, fault := tagMap(in.Tags)
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
	maps.Copy(tags, added)
	if len(tags) > maxTags {
		return nil, &wire.Error{
			Code:    "TagLimitExceeded",
			Message: "Could not complete request: tag quota of per resource exceeded",
		}
	}
	t.tags = tags
	s.records.topic(t)
	return &TagResourceOutput{}, nil
}
