package cloudwatch

import (
	"context"

	"github.com/godwitmq/godwit/localaws/wire"
)

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceARN string   `json:"ResourceARN"`
	TagKeys     []string `json:"TagKeys"`
}

// UntagResourceOutput is the empty output of UntagResource.
type UntagResourceOutput struct{}

// untagResource removes tags; keys that the alarm does not have are ignored.
func (s *Service) untagResource(_ context.Context, _ *wire.Call, in *UntagResourceInput) (*UntagResourceOutput, error) {
	fault := s.changeTags(in.ResourceARN, func(tags map[string]string) {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
	})
	if fault != nil {
		return nil, fault
	}
	return &UntagResourceOutput{}, nil
}
