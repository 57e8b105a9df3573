package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// getBucketTagging is NoSuchTagSet for a bucket without tags, where an object without tags has an empty set (AWS's API
// reference).
func (s *Service) getBucketTagging(_ context.Context, c *rest.Call, in *BucketInput) (*TaggingOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	tags := b.Settings().Tags
	if len(tags) == 0 {
		return nil, rest.Refuse(404, "NoSuchTagSet", "The TagSet does not exist", "BucketName", in.Bucket)
	}
	return shownTags(tags), nil
}
