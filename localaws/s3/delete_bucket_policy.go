package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketPolicy succeeds also where there is no policy.
func (s *Service) deleteBucketPolicy(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Policy = "" })
}
