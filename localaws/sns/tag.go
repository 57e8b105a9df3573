package sns

import (
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
	ResourceInput
	Tags []Tag `json:"Tags"`
}

// tagResource adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference,
// TagResource).
func tagResource(c call, arn string, in *TagResourceInput) (*Empty, error) {
	added, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	c.at.mu.Lock()
	defer c.at.mu.Unlock()
	t, ok := c.at.topics[arn]
	if !ok {
		return nil, noResource()
	}
	c.at.touch(t)
	tags := maps.Clone(t.tags)
	maps.Copy(tags, added)
	if len(tags) > maxTags {
		return nil, &wire.Error{
			Code:    "TagLimitExceeded",
			Message: "Could not complete request: tag quota of per resource exceeded",
		}
	}
	t.tags = tags
	c.at.records.topic(t)
	return &Empty{}, nil
}

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceInput
	TagKeys []string `json:"TagKeys"`
}

// untagResource removes tags; keys that the topic does not have are ignored (AWS's API reference, UntagResource).
func untagResource(c call, t *topic, in *UntagResourceInput) (*Empty, error) {
	tags := maps.Clone(t.tags)
	maps.DeleteFunc(tags, func(k, _ string) bool { return slices.Contains(in.TagKeys, k) })
	t.tags = tags
	c.at.records.topic(t)
	return &Empty{}, nil
}

// ListTagsForResourceInput is the input of ListTagsForResource.
type ListTagsForResourceInput struct {
	ResourceInput
}

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `json:"Tags"`
}

// listTagsForResource is of topics only, and does not distinguish a missing topic from a resource of another kind
// (AWS's API reference, ListTagsForResource).
func listTagsForResource(_ call, t *topic, _ *ListTagsForResourceInput) (*ListTagsForResourceOutput, error) {
	return &ListTagsForResourceOutput{Tags: tagList(t.tags)}, nil
}
