package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// ListTagsForResourceOutput is the output of ListTagsForResource.
type ListTagsForResourceOutput struct {
	Tags []Tag `xml:"Tags>Tag"`
}

// listTagsForResource is the action of S3 Control by which Terraform reads the tags of a bucket
// (hashicorp/terraform-provider-aws issue 45292). No tags are an empty list, unlike GetBucketTagging.
func (s *Service) listTagsForResource(_ context.Context, c *rest.Call, in *ResourceInput,
) (*ListTagsForResourceOutput, error) {
	b, err := s.resource(c, in)
	if err != nil {
		return nil, err
	}
	return &ListTagsForResourceOutput{shownTags(b.Settings().Tags).TagSet}, nil
}
