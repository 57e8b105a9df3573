package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetBucketOwnershipControlsOutput is the output of GetBucketOwnershipControls.
type GetBucketOwnershipControlsOutput struct {
	Rule []OwnershipRule
}

// getBucketOwnershipControls is OwnershipControlsNotFoundError where they were deleted; a new bucket has
// BucketOwnerEnforced (AWS's user guide, since April 2023).
func (s *Service) getBucketOwnershipControls(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetBucketOwnershipControlsOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	kind := b.Settings().Ownership
	if kind == "" {
		return nil, rest.Refuse(404, "OwnershipControlsNotFoundError", "The bucket ownership controls were not found",
			"BucketName", in.Bucket)
	}
	return &GetBucketOwnershipControlsOutput{[]OwnershipRule{{kind}}}, nil
}
