package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// getBucketLogging answers an empty status where nothing is logged, and no error (AWS's API reference).
func (s *Service) getBucketLogging(_ context.Context, c *rest.Call, in *BucketInput) (*LoggingStatus, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return &LoggingStatus{b.Settings().Logging}, nil
}
