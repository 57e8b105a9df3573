package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketLifecycleConfigurationInput is the input of PutBucketLifecycleConfiguration.
type PutBucketLifecycleConfigurationInput struct {
	Bucket                             string          `rest:"bucket"`
	LifecycleConfiguration             *LifecycleRules `rest:"payload,LifecycleConfiguration"`
	TransitionDefaultMinimumObjectSize string          `rest:"header,x-amz-transition-default-minimum-object-size"`
}

// LifecycleStored is the output of PutBucketLifecycleConfiguration.
type LifecycleStored struct {
	TransitionDefaultMinimumObjectSize string `rest:"header,x-amz-transition-default-minimum-object-size"`
}

// minimumSize is what S3 answers about transitions unless the client says otherwise.
const minimumSize = "all_storage_classes_128K"

func (s *Service) putBucketLifecycleConfiguration(
	_ context.Context, c *rest.Call, in *PutBucketLifecycleConfigurationInput,
) (*LifecycleStored, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if size := in.TransitionDefaultMinimumObjectSize; size != "" && size != minimumSize {
		return nil, notImplemented("x-amz-transition-default-minimum-object-size: " + size)
	}
	rules, err := s.lifecycle(in.LifecycleConfiguration)
	if err != nil {
		return nil, err
	}
	if err := s.configure(b, func(set *bucket.Settings) { set.Lifecycle = rules }); err != nil {
		return nil, err
	}
	s.arm()
	return &LifecycleStored{minimumSize}, nil
}
