package s3store

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/driver"
)

const (
	// copyUpTo is the size up to which S3 copies an object with one request.
	copyUpTo = 5 << 30
	// copyPart is the least size of a part of a larger copy. A part that fails is repeated.
	copyPart = 512 << 20
	// slowestCopy is how many bytes a second S3 must copy at least.
	slowestCopy = 5 << 20
)

var _ driver.Copier = (*Store)(nil)

// Written returns when an object was written, without a call if its key is one of the store.
func (s *Store) Written(ctx context.Context, at driver.Location) (time.Time, error) {
	src, listed := s.at(at)
	if !listed {
		return time.Time{}, foreign()
	}
	// A key that says that it is of tomorrow comes from a clock that is wrong.
	if when, ours := keyTime(at.Key); ours && s.owns(at) && !when.After(time.Now()) {
		return when, nil
	}
	head, err := s.head(ctx, src, at)
	if err != nil {
		return time.Time{}, err
	}
	if head.LastModified == nil {
		return time.Time{}, &driver.Error{
			Class: driver.Permanent, Err: fmt.Errorf("S3 does not say when the object was written"),
		}
	}
	return *head.LastModified, nil
}

// Copy copies an object to a new one of the store's own bucket. The bytes do not leave S3.
func (s *Store) Copy(ctx context.Context, at driver.Location, folder string) (driver.Location, error) {
	src, listed := s.at(at)
	if !listed {
		return driver.Location{}, foreign()
	}
	key, err := s.newKey(folder)
	if err != nil {
		return driver.Location{}, err
	}
	head, err := s.head(ctx, src, at)
	if err != nil {
		return driver.Location{}, err
	}
	if size := deref(head.ContentLength); size <= s.copyUpTo {
		err = s.copyWhole(ctx, src, at, key, size)
	} else {
		err = s.inParts(ctx, key, func(id string) ([]types.CompletedPart, error) {
			return s.copyParts(ctx, &s3.UploadPartCopyInput{
				Bucket: &s.o.Bucket, Key: &key, UploadId: &id, CopySource: copySource(at),
				CopySourceIfMatch: head.ETag, ExpectedSourceBucketOwner: src.owner(),
			}, size)
		})
	}
	if err != nil {
		return driver.Location{}, copyError(err)
	}
	return driver.Location{Bucket: s.o.Bucket, Key: key}, nil
}

func (s *Store) head(ctx context.Context, src Source, at driver.Location) (*s3.HeadObjectOutput, error) {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	head, err := s.s3.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &at.Bucket, Key: &at.Key, ExpectedBucketOwner: src.owner(),
	}, repeating())
	if err != nil {
		return nil, readError(err)
	}
	return head, nil
}

func (s *Store) copyWhole(ctx context.Context, src Source, at driver.Location, key string, size int64) error {
	ctx, cancel := withinCopy(ctx, size)
	defer cancel()
	in := &s3.CopyObjectInput{
		Bucket: &s.o.Bucket, Key: &key, CopySource: copySource(at), IfNoneMatch: once(),
		ExpectedSourceBucketOwner: src.owner(),
		// To copy the tags of an object needs permissions of its own, and they mean nothing for a body.
		TaggingDirective: types.TaggingDirectiveReplace,
	}
	in.ServerSideEncryption, in.SSEKMSKeyId, in.BucketKeyEnabled = s.encryption()
	_, err := s.s3.CopyObject(ctx, in, repeating())
	return written(err)
}

// copyParts copies the parts of an object one after another.
func (s *Store) copyParts(
	ctx context.Context, in *s3.UploadPartCopyInput, size int64,
) (parts []types.CompletedPart, err error) {
	step := max(s.copyPart, (size+maxParts-1)/maxParts)
	for at, number := int64(0), int32(1); at < size; at, number = at+step, number+1 {
		last := min(at+step, size) - 1
		part := *in
		of := fmt.Sprintf("bytes=%d-%d", at, last)
		part.PartNumber, part.CopySourceRange = &number, &of
		done, err := s.copyOne(ctx, &part, last-at+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, done)
	}
	return parts, nil
}

func (s *Store) copyOne(ctx context.Context, in *s3.UploadPartCopyInput, n int64) (types.CompletedPart, error) {
	ctx, cancel := withinCopy(ctx, n)
	defer cancel()
	out, err := s.s3.UploadPartCopy(ctx, in, repeating())
	if err != nil {
		return types.CompletedPart{}, err
	}
	done := types.CompletedPart{PartNumber: in.PartNumber}
	if r := out.CopyPartResult; r != nil {
		done.ETag = r.ETag
	}
	return done, nil
}

// withinCopy bounds one request that copies n bytes, with its repetitions.
func withinCopy(ctx context.Context, n int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, repeatFor+time.Duration(n/slowestCopy)*time.Second)
}

// copySource is the place of an object as a header.
func copySource(at driver.Location) *string {
	parts := strings.Split(at.Key, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	// S3 reads '+' as a space.
	text := strings.ReplaceAll(at.Bucket+"/"+strings.Join(parts, "/"), "+", "%2B")
	return &text
}

// copyError explains the error of a copy. It names no bucket and no key, because a message has named them.
func copyError(err error) error {
	if codeOf(err) == "NoSuchBucket" { // see readError
		err = &driver.Error{Class: driver.Transient, Err: err}
	}
	err = classify(err)
	if driver.ClassOf(err) != driver.Denied {
		return fmt.Errorf("copy the body in S3: %w", err)
	}
	return fmt.Errorf("copy the body in S3: %w (it needs permission s3:GetObject for the object and s3:PutObject for the "+
		"store's bucket; kms:Decrypt and kms:GenerateDataKey if KMS keys encrypt them)", err)
}
