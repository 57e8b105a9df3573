package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketWebsite succeeds also where there is no configuration (AWS's API reference, DeleteBucketWebsite).
func (s *Service) deleteBucketWebsite(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Website = nil })
}
