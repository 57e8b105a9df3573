package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketOwnershipControls leaves no controls, and not BucketOwnerEnforced, which new buckets have: reading them
// is then OwnershipControlsNotFoundError.
func (s *Service) deleteBucketOwnershipControls(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Ownership = "" })
}
