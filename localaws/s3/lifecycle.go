package s3

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// expiration returns the header that says when an object expires; "": it does not.
func expiration(set *bucket.Settings, o *bucket.Object) string {
	at, rule, ok := set.Expiry(o)
	if !ok {
		return ""
	}
	return fmt.Sprintf(`expiry-date="%s", rule-id="%s"`, httpTime(at), url.PathEscape(rule))
}

// arm sets the alarm of the next midnight if a bucket has a lifecycle, and removes it if none has.
func (s *Service) arm() {
	needed := false
	for _, b := range s.store.Buckets() {
		needed = needed || len(b.Settings().Lifecycle) > 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || !needed:
		s.sleep()
	case s.stop == nil:
		now := s.opts.Clock.Now()
		next := bucket.Midnight(now.Add(1))
		s.stop = s.opts.Clock.AfterFunc(next.Sub(now), s.midnight)
	}
}

// sleep removes the alarm. The caller holds the lock.
func (s *Service) sleep() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// midnight ends what the lifecycles end, and sets the next alarm.
func (s *Service) midnight() {
	s.mu.Lock()
	s.stop = nil
	s.mu.Unlock()
	now := s.opts.Clock.Now()
	for _, b := range s.store.Buckets() {
		for _, gone := range b.Sweep(now) {
			s.log.Info("s3: the lifecycle has expired an object", "bucket", b.Name(), "key", gone.Key)
			s.notifyRemoved(nil, b, "LifecycleExpiration:Delete", gone)
		}
	}
	s.arm()
}

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
func putBucketLifecycleConfiguration(c call, b *bucket.Bucket, in *PutBucketLifecycleConfigurationInput) (
	*LifecycleStored, error,
) {
	smallest := cmp.Or(in.TransitionDefaultMinimumObjectSize, minimumSize)
	if smallest != minimumSize && smallest != minimumByClass {
		return nil, invalidRequest("Invalid TransitionDefaultMinimumObjectSize found: " + smallest)
	}
	rules, err := lifecycle(c.at.opts.Random, in.LifecycleConfiguration)
	if err != nil {
		return nil, err
	}
	if err := configure(b, func(set *bucket.Settings) { set.Lifecycle, set.Smallest = rules, smallest }); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(rules, func(r bucket.Rule) bool { return r.Inert() }) {
		c.inert(b, keptTransition)
	}
	c.at.arm()
	return &LifecycleStored{smallest}, nil
}

// GetBucketLifecycleConfigurationOutput is the output of GetBucketLifecycleConfiguration.
type GetBucketLifecycleConfigurationOutput struct {
	TransitionDefaultMinimumObjectSize string `rest:"header,x-amz-transition-default-minimum-object-size"`
	Rule                               []LifecycleRule
}

// getBucketLifecycleConfiguration is NoSuchLifecycleConfiguration where there are no rules. A header tells from which
// size on objects change their class (AWS's API reference).
func getBucketLifecycleConfiguration(_ call, b *bucket.Bucket, in *BucketInput) (
	*GetBucketLifecycleConfigurationOutput, error,
) {
	set := b.Settings()
	if len(set.Lifecycle) == 0 {
		return nil, notFound(b, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
	}
	return &GetBucketLifecycleConfigurationOutput{set.Smallest, shownRules(set.Lifecycle)}, nil
}

// deleteBucketLifecycle ends all rules at once; AWS takes some time, in which rules may still act (AWS's API
// reference).
func deleteBucketLifecycle(c call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	err := configure(b, func(set *bucket.Settings) { set.Lifecycle = nil })
	c.at.arm()
	return noContent(), err
}
