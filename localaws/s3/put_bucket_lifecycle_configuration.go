package s3

import (
	"cmp"
	"context"
	"slices"

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

// What a client may say about the objects that are too small for a transition, the first by default.
const (
	minimumSize    = "all_storage_classes_128K"
	minimumByClass = "varies_by_storage_class"
)

// putBucketLifecycleConfiguration replaces all rules. AWS applies them once a day, from the midnight (UTC) that follows
// the time on; here exactly then (AWS's user guide, lifecycle expiration).
func (s *Service) putBucketLifecycleConfiguration(
	_ context.Context, c *rest.Call, in *PutBucketLifecycleConfigurationInput,
) (*LifecycleStored, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	smallest := cmp.Or(in.TransitionDefaultMinimumObjectSize, minimumSize)
	if smallest != minimumSize && smallest != minimumByClass {
		return nil, invalidRequest("Invalid TransitionDefaultMinimumObjectSize found: " + smallest)
	}
	rules, err := s.lifecycle(in.LifecycleConfiguration)
	if err != nil {
		return nil, err
	}
	if err := s.configure(b, func(set *bucket.Settings) { set.Lifecycle, set.Smallest = rules, smallest }); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rules, func(r bucket.Rule) bool { return r.Inert() }) {
		s.inert(b, keptTransition)
	}
	s.arm()
	return &LifecycleStored{smallest}, nil
}
