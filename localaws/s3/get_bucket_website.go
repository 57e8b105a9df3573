package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// getBucketWebsite is NoSuchWebsiteConfiguration where there is none.
func (s *Service) getBucketWebsite(_ context.Context, c *rest.Call, in *BucketInput) (*bucket.Website, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	set := b.Settings().Website
	if set == nil {
		return nil, rest.Refuse(404, "NoSuchWebsiteConfiguration",
			"The specified bucket does not have a website configuration", "BucketName", in.Bucket)
	}
	return set, nil
}
