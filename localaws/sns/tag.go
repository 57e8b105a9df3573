package sns

import (
	"context"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/localaws/wire"
)

// Tag is one tag of a topic.
type Tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

const (
	maxTags     = 50  // AWS: tags a resource
	maxTagKey   = 128 // AWS: characters
	maxTagValue = 256 // AWS: characters
)

// tagMap checks a list of tags and returns it as a map.
func tagMap(tags []Tag) (map[string]string, *wire.Error) {
	m := make(map[string]string, len(tags))
	for _, t := range tags {
		if t.Key == "" || len([]rune(t.Key)) > maxTagKey {
			return nil, invalid("Tags Reason: a tag's key must have 1 to %d characters", maxTagKey)
		}
		if len([]rune(t.Value)) > maxTagValue {
			return nil, invalid("Tags Reason: a tag's value must have at most %d characters", maxTagValue)
		}
		if _, twice := m[t.Key]; twice {
			return nil, invalid("Duplicated keys are not allowed.")
		}
		m[t.Key] = t.Value
	}
	return m, nil
}

// tagList returns tags sorted by key.
func tagList(m map[string]string) []Tag {
	tags := make([]Tag, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		tags = append(tags, Tag{k, m[k]})
	}
	return tags
}

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
