package s3

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// UntagResourceInput is the input of UntagResource.
type UntagResourceInput struct {
	ResourceInput
	TagKeys []string `rest:"query,tagKeys"`
}

// untagResource removes tags. A key without a tag is no error.
func (s *Service) untagResource(_ context.Context, c *rest.Call, in *UntagResourceInput) (*Done, error) {
	b, err := s.resource(c, &in.ResourceInput)
	if err != nil {
		return nil, err
	}
	if len(in.TagKeys) == 0 {
		return nil, invalidRequest("Missing required parameter: tagKeys")
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) {
		set.Tags = slices.DeleteFunc(slices.Clone(set.Tags), func(t bucket.Tag) bool {
			return slices.Contains(in.TagKeys, t.Key)
		})
	})
}
