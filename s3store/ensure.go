package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/driver"
)

// ensureWithin bounds all calls of Ensure together.
const ensureWithin = time.Minute

// Ensure creates the bucket if it is missing, with everything that keeps strangers out of it, and adds the rule of
// Options.Lifetime to the bucket's lifecycle, beside the rules of others. Everything else of a bucket that exists stays
// as it is. In mode driver.Verify it only compares.
func (s *Store) Ensure(ctx context.Context, mode driver.Mode) error {
	if mode == driver.Declare {
		mode = driver.Auto // the bucket is not one channel's, so no channel's specification is exact about it
	}
	s.mu.Lock()
	known := s.done && s.ensured <= mode // Auto does more than Verify, and Verify more than Never
	s.mu.Unlock()
	if known || mode == driver.Never {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ensureWithin)
	defer cancel()
	if err := s.ensure(ctx, mode); err != nil {
		return fmt.Errorf("bucket %s: %w", s.o.Bucket, err)
	}
	s.mu.Lock()
	s.done, s.ensured = true, mode
	s.mu.Unlock()
	return nil
}

func (s *Store) ensure(ctx context.Context, mode driver.Mode) error {
	_, err := s.s3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.o.Bucket})
	err = classify(err)
	switch {
	case driver.ClassOf(err) == driver.Denied:
		return fmt.Errorf("look whether it exists: %w (it needs permission s3:ListBucket; a process without it needs "+
			"ProvisionNever, and another one that creates the bucket)", err)
	case driver.ClassOf(err) == driver.NotFound && mode.Creates():
		if err := s.create(ctx); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	return s.ensureLifecycle(ctx, mode)
}

// createdAgain creates the bucket again if a write says that it was deleted, and the store has created or found it with
// driver.Auto before. It reports whether the write can be repeated.
func (s *Store) createdAgain(ctx context.Context, written error) bool {
	if codeOf(written) != "NoSuchBucket" {
		return false
	}
	s.mu.Lock()
	ours := s.done && s.ensured == driver.Auto
	s.mu.Unlock()
	return ours && s.ensure(ctx, driver.Auto) == nil // otherwise the caller returns the error of the write
}

// create creates the bucket. Of several processes one succeeds; the others find the bucket.
func (s *Store) create(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: &s.o.Bucket}
	if s.region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{
			LocationConstraint: types.BucketLocationConstraint(s.region),
		}
	}
	_, err := s.s3.CreateBucket(ctx, in)
	switch codeOf(err) {
	case "BucketAlreadyOwnedByYou", "OperationAborted": // another process is first
		return nil
	case "BucketAlreadyExists":
		return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
			"create it: its name belongs to another account: choose another one: %w", err)}
	}
	if err != nil {
		return fmt.Errorf("create it: %w", permission(classify(err), "s3:CreateBucket"))
	}
	return errors.Join(s.protect(ctx), s.encrypt(ctx), s.tag(ctx))
}

// protect blocks public access, and requests without TLS.
func (s *Store) protect(ctx context.Context) error {
	yes := true
	_, err := s.s3.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: &s.o.Bucket, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: &yes, BlockPublicPolicy: &yes, IgnorePublicAcls: &yes, RestrictPublicBuckets: &yes,
		},
	})
	if err != nil {
		return fmt.Errorf("block public access: %w", permission(classify(err), "s3:PutBucketPublicAccessBlock"))
	}
	policy := tlsOnly(s.region, s.o.Bucket)
	if _, err := s.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &s.o.Bucket, Policy: &policy}); err != nil {
		return fmt.Errorf("set its policy: %w", permission(classify(err), "s3:PutBucketPolicy"))
	}
	return nil
}

// partition is the partition of AWS that a region is in. S3 refuses a policy with the ARNs of another one.
func partition(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// tlsOnly is a policy that denies requests without TLS.
func tlsOnly(region, bucket string) string {
	arn := "arn:" + partition(region) + ":s3:::" + bucket
	text, err := json.Marshal(map[string]any{
		"Version": "2012-10-17",
		"Statement": []any{map[string]any{
			"Sid": "godwit-tls-only", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
			"Resource":  []string{arn, arn + "/*"},
			"Condition": map[string]any{"Bool": map[string]string{"aws:SecureTransport": "false"}},
		}},
	})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(text)
}

// encrypt sets the key of Options.Encryption, with a key for the bucket, so that KMS is not called for each object.
func (s *Store) encrypt(ctx context.Context) error {
	if s.o.Encryption == "" {
		return nil // S3's own keys are the default
	}
	yes := true
	_, err := s.s3.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket: &s.o.Bucket, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
			Rules: []types.ServerSideEncryptionRule{{
				ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{
					SSEAlgorithm: types.ServerSideEncryptionAwsKms, KMSMasterKeyID: &s.o.Encryption,
				},
				BucketKeyEnabled: &yes,
			}},
		},
	})
	if err != nil {
		return fmt.Errorf("set its encryption: %w", permission(classify(err), "s3:PutEncryptionConfiguration"))
	}
	return nil
}

func (s *Store) tag(ctx context.Context) error {
	if len(s.o.Tags) == 0 {
		return nil
	}
	var tags []types.Tag
	for _, name := range slices.Sorted(maps.Keys(s.o.Tags)) {
		value := s.o.Tags[name]
		tags = append(tags, types.Tag{Key: &name, Value: &value})
	}
	_, err := s.s3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{
		Bucket: &s.o.Bucket, Tagging: &types.Tagging{TagSet: tags},
	})
	if err != nil {
		return fmt.Errorf("tag it: %w", permission(classify(err), "s3:PutBucketTagging"))
	}
	return nil
}
