package cloudwatch

import (
	"context"
	"maps"

	"github.com/godwitmq/godwit/localaws/wire"
)

// TagResourceInput is the input of TagResource.
type TagResourceInput struct {
	ResourceARN string `json:"ResourceARN"`
	Tags        []Tag  `json:"Tags"`
}

// TagResourceOutput is the empty output of TagResource.
type TagResourceOutput struct{}

// tagResource adds tags, and replaces those with the same key; 50 are allowed in all (AWS's API reference,
// TagResource).
func (s *Service) tagResource(_ context.Context, _ *wire.Call, in *TagResourceInput) (*TagResourceOutput, error) {
	added, fault := tagMap(in.Tags)
	if fault != nil {
		return nil, fault
	}
	fault = s.changeTags(in.ResourceARN, func(tags map[string]string) { maps.Copy(tags, added) })
	if fault != nil {
		return nil, fault
	}
	return &TagResourceOutput{}, nil
}

// changeTags changes the tags of an alarm, unless there would be too many.
func (s *Service) changeTags(arn string, alter func(tags map[string]string)) *wire.Error {
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
