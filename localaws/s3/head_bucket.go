package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// HeadBucketOutput is the output of HeadBucket.
type HeadBucketOutput struct {
	BucketARN        string `rest:"header,x-amz-bucket-arn"`
	BucketRegion     string `rest:"header,x-amz-bucket-region"`
	AccessPointAlias string `rest:"header,x-amz-access-point-alias"`
	ContentType      string `rest:"header,Content-Type"`
}

// headBucket has no body, so that an error is only a status: 400, 403 or 404 (AWS's API reference). Region and ARN are
// in headers (recorded on AWS, 2026-02).
func (s *Service) headBucket(_ context.Context, c *rest.Call, in *BucketInput) (*HeadBucketOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return &HeadBucketOutput{
		BucketARN: b.ARN(), BucketRegion: b.Region(), AccessPointAlias: "false", ContentType: "application/xml",
	}, nil
}
