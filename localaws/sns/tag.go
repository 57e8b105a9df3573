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
