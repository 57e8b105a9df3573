package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetBucketLocationOutput is the output of GetBucketLocation. The first region is written as nothing.
type GetBucketLocationOutput struct {
	Location string `xml:",chardata"`
}

// getBucketLocation may be called in any region: clients call it to find the bucket's. us-east-1 is written as nothing,
// and a bucket that was created in EU has EU (recorded on AWS, 2026-02: TestRecordedS3Locations).
func (s *Service) getBucketLocation(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetBucketLocationOutput, error) {
	b, err := s.anyRegion(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	out := &GetBucketLocationOutput{Location: b.Settings().Location}
	if out.Location == "" && b.Region() != firstRegion {
		out.Location = b.Region()
	}
	return out, nil
}
