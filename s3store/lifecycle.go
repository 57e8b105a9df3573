package s3store

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/driver"
)

// uploadDays is after how many days the parts of an upload are removed whose process crashed.
const uploadDays = 2

// ruleID names the store's rule. Stores with different prefixes in one bucket have different rules.
func ruleID(prefix string) string { return "godwit payloads " + prefix }

// rule is the store's rule of the bucket's lifecycle. Versions that a bucket with versioning keeps are removed a day
// after they were deleted.
func (s *Store) rule() types.LifecycleRule {
	id, uploads, versions := ruleID(s.o.Prefix), int32(uploadDays), int32(1)
	r := types.LifecycleRule{
		ID: &id, Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: &s.o.Prefix},
		AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: &uploads},
		NoncurrentVersionExpiration:    &types.NoncurrentVersionExpiration{NoncurrentDays: &versions},
	}
	if s.o.Lifetime > 0 {
		days := int32(s.o.Lifetime / day)
		r.Expiration = &types.LifecycleExpiration{Days: &days}
	}
	return r
}

// ensureLifecycle sets the store's rule if it is missing or shorter. A longer one stays, because another process may
// need it.
func (s *Store) ensureLifecycle(ctx context.Context, mode driver.Mode) error {
	now, err := s.lifecycle(ctx)
	if err != nil {
		return err
	}
	wanted := s.rule()
	var rules []types.LifecycleRule
	for _, r := range now.Rules {
		switch {
		case deref(r.ID) != ruleID(s.o.Prefix):
			rules = append(rules, r)
		case r.Status == types.ExpirationStatusEnabled && days(r) >= days(wanted):
			return nil
		case mode == driver.Verify:
			return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
				"its lifecycle rule %q deletes objects after %d days, and Options.Lifetime says %d: change one of them",
				ruleID(s.o.Prefix), days(r), days(wanted))}
		}
	}
	if mode == driver.Verify {
		return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf(
			"its lifecycle has no rule %q: add one for prefix %q that deletes objects after %d days (0: never) and unfinished "+
				"uploads after %d", ruleID(s.o.Prefix), s.o.Prefix, days(wanted)%unlimited, uploadDays)}
	}
	_, err = s.s3.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &s.o.Bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: append(rules, wanted)},
		TransitionDefaultMinimumObjectSize: now.TransitionDefaultMinimumObjectSize,
	})
	if err != nil {
		return fmt.Errorf("set its lifecycle: %w", permission(classify(err), "s3:PutLifecycleConfiguration"))
	}
	return nil
}

// lifecycle reads the rules of the bucket; none is no error.
func (s *Store) lifecycle(ctx context.Context) (*s3.GetBucketLifecycleConfigurationOutput, error) {
	now, err := s.s3.GetBucketLifecycleConfiguration(ctx,
		&s3.GetBucketLifecycleConfigurationInput{Bucket: &s.o.Bucket})
	switch {
	case codeOf(err) == "NoSuchLifecycleConfiguration":
		return &s3.GetBucketLifecycleConfigurationOutput{}, nil
	case err != nil:
		return nil, fmt.Errorf("read its lifecycle: %w", permission(classify(err), "s3:GetLifecycleConfiguration"))
	}
	return now, nil
}

// Place is where a store keeps its objects, and for how long, as S3 has it.
type Place struct {
	Bucket, Prefix string
	// Days is after how many days S3 deletes an object that nothing else has deleted. 0: never.
	Days int
}

// Look reads where the store keeps its objects, and for how long, for operators. It changes nothing. The error for a
// bucket that does not exist is of class [driver.NotFound].
func (s *Store) Look(ctx context.Context) (Place, error) {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	p := Place{Bucket: s.o.Bucket, Prefix: s.o.Prefix}
	now, err := s.lifecycle(ctx)
	if err != nil {
		return p, fmt.Errorf("bucket %s: %w", s.o.Bucket, err)
	}
	least := int64(unlimited)
	for _, r := range now.Rules {
		if r.Status == types.ExpirationStatusEnabled && covers(r, s.o.Prefix) {
			least = min(least, days(r))
		}
	}
	p.Days = int(least % unlimited)
	return p, nil
}

// covers reports whether a rule is for all objects whose keys begin with a prefix.
func covers(r types.LifecycleRule, prefix string) bool {
	f := r.Filter
	if f == nil {
		return strings.HasPrefix(prefix, deref(r.Prefix)) //nolint:staticcheck // the form of old rules
	}
	return f.And == nil && f.Tag == nil && f.ObjectSizeGreaterThan == nil && f.ObjectSizeLessThan == nil &&
		strings.HasPrefix(prefix, deref(f.Prefix))
}

// unlimited is more days than a rule can have.
const unlimited = 1 << 31

// days is after how many days a rule deletes objects.
func days(r types.LifecycleRule) int64 {
	if r.Expiration == nil || r.Expiration.Days == nil {
		return unlimited
	}
	return int64(*r.Expiration.Days)
}
