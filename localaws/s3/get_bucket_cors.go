package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// GetBucketCORSOutput is the output of GetBucketCors.
type GetBucketCORSOutput struct {
	CORSRule []bucket.CORSRule
}

// getBucketCORS is NoSuchCORSConfiguration where there are no rules.
func (s *Service) getBucketCORS(_ context.Context, c *rest.Call, in *BucketInput) (*GetBucketCORSOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	set := b.Settings().CORS
	if set == nil {
		return nil, rest.Refuse(404, "NoSuchCORSConfiguration", "The CORS configuration does not exist",
			"BucketName", in.Bucket)
	}
	return &GetBucketCORSOutput{set.CORSRule}, nil
}
