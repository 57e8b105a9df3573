package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetBucketPolicyOutput is the output of GetBucketPolicy.
type GetBucketPolicyOutput struct {
	Policy string `rest:"text"`
}

// getBucketPolicy answers the policy as it was put, in JSON and not in XML, or NoSuchBucketPolicy (AWS's API
// reference).
func (s *Service) getBucketPolicy(_ context.Context, c *rest.Call, in *BucketInput) (*GetBucketPolicyOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	text := b.Settings().Policy
	if text == "" {
		return nil, rest.Refuse(404, "NoSuchBucketPolicy", "The bucket policy does not exist", "BucketName", in.Bucket)
	}
	return &GetBucketPolicyOutput{text}, nil
}
