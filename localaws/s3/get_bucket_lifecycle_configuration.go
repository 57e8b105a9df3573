package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetBucketLifecycleConfigurationOutput is the output of GetBucketLifecycleConfiguration.
type GetBucketLifecycleConfigurationOutput struct {
	TransitionDefaultMinimumObjectSize string `rest:"header,x-amz-transition-default-minimum-object-size"`
	Rule                               []LifecycleRule
}

// getBucketLifecycleConfiguration is NoSuchLifecycleConfiguration where there are no rules. A header tells from which
// size on objects change their class (AWS's API reference).
func (s *Service) getBucketLifecycleConfiguration(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetBucketLifecycleConfigurationOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	set := b.Settings()
	if len(set.Lifecycle) == 0 {
		return nil, rest.Refuse(404, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist",
			"BucketName", in.Bucket)
	}
	return &GetBucketLifecycleConfigurationOutput{set.Smallest, shownRules(set.Lifecycle)}, nil
}
