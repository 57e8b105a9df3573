package cloudwatch

import (
	"maps"

	"github.com/godwitmq/godwit/localaws/wire"
)

// TagResourceInput is the input of TagResource.
type TagResourceInput struct {
	ResourceARN string `json:"ResourceARN"`
	Tags        []Tag  `json:"Tags"`
}

// tagResource adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference,
// TagResource).
func tagResource(s *Service, in *TagResourceInput) (*Empty, error) {
	added, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	fault = changeTags(s, in.ResourceARN, func(tags map[string]string) { maps.Copy(tags, added) })
	if fault != nil {
		return nil, fault
	}
	return &Empty{}, nil
}

// changeTags changes the tags of an alarm, unless there would be too many.
func changeTags(s *Service, arn string, alter func(tags map[string]string)) *wire.Error {
	if arn == "" {
		return required("ResourceARN")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.alarmByARN(arn)
	if a == nil {
		return noResource(arn)
	}
	tags := maps.Clone(a.tags)
	alter(tags)
	if len(tags) > maxTags {
		return tooMany("Tags", maxTags)
	}
	a.tags = tags
	a.keep(s.opts.Store)
	return nil
}

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceARN string   `json:"ResourceARN"`
	TagKeys     []string `json:"TagKeys"`
}

// untagResource removes tags; keys that the alarm does not have are ignored.
func untagResource(s *Service, in *UntagResourceInput) (*Empty, error) {
	fault := changeTags(s, in.ResourceARN, func(tags map[string]string) {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	})
	if fault != nil {
		return nil, fault
	}
	return &Empty{}, nil
}

// ListTagsForResourceInput is the input of ListTagsForResource.
type ListTagsForResourceInput struct {
	ResourceARN string `json:"ResourceARN"`
}

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `json:"Tags"`
}

// listTagsForResource is of alarms only; on AWS also of rules of Contributor Insights.
func listTagsForResource(s *Service, in *ListTagsForResourceInput) (*ListTagsForResourceOutput, error) {
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
