package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketLifecycle ends all rules at once; AWS takes some time, in which rules may still act (AWS's API
// reference).
func (s *Service) deleteBucketLifecycle(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	err = s.configure(b, func(set *bucket.Settings) { set.Lifecycle = nil })
	s.arm()
	return noContent(), err
}
