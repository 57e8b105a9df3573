package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetPublicAccessBlockOutput is the output of GetPublicAccessBlock.
type GetPublicAccessBlockOutput struct {
	PublicAccess
}

// getPublicAccessBlock is NoSuchPublicAccessBlockConfiguration where it was deleted; a new bucket has everything
// blocked.
func (s *Service) getPublicAccessBlock(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetPublicAccessBlockOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	block := b.Settings().PublicAccess
	if block == nil {
		return nil, rest.Refuse(404, "NoSuchPublicAccessBlockConfiguration",
			"The public access block configuration was not found", "BucketName", in.Bucket)
	}
	return &GetPublicAccessBlockOutput{PublicAccess(*block)}, nil
}
