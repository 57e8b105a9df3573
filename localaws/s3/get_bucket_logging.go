package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

func (s *Service) getBucketLogging(_ context.Context, c *rest.Call, in *BucketInput) (*LoggingStatus, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return &LoggingStatus{b.Settings().Logging}, nil
}
