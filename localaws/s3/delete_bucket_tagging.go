package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketTagging removes all tags; UntagResource of S3 Control removes single ones.
func (s *Service) deleteBucketTagging(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Tags = nil })
}
