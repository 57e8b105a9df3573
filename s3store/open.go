package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
)

// answerWithin is how long S3 may take to begin an answer. The core repeats a download, so the client does not.
const answerWithin = 10 * time.Second

// Open begins to read an object of the store's own bucket or of a Source.
func (s *Store) Open(ctx context.Context, at driver.Location) (io.ReadCloser, int64, error) {
	src, listed := s.at(at)
	if !listed {
		return nil, 0, foreign()
	}
	out, end, err := s.get(ctx, src, at, nil, nil)
	if err != nil {
		return nil, 0, readError(err)
	}
	o := &object{size: -1, body: out.Body, end: end}
	if out.ContentLength != nil && out.ETag != nil {
		o.size = *out.ContentLength
		o.again = func(from int64) (*s3.GetObjectOutput, func(), error) {
			rest := fmt.Sprintf("bytes=%d-", from)
			return s.get(ctx, src, at, &rest, out.ETag)
		}
	}
	return o, o.size, nil
}

// get begins to read an object, or the rest of it, unless the object has changed. The caller calls end.
func (s *Store) get(ctx context.Context, src Source, at driver.Location, part, unchanged *string) (
	out *s3.GetObjectOutput, end func(), err error,
) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(answerWithin, func() { cancel(errNoAnswer) })
	out, err = s.s3.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &at.Bucket, Key: &at.Key, ExpectedBucketOwner: src.owner(), Range: part, IfMatch: unchanged,
	}, func(so *s3.Options) { so.Retryer = aws.NopRetryer{} })
	late.Stop()
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
			err = &driver.Error{Class: driver.Transient, Err: errors.Join(cause, err)}
		}
		cancel(nil)
		return nil, nil, err
	}
	return out, func() { cancel(nil) }, nil
}

// foreign is the error of a location that is not listed.
func foreign() error {
	return &driver.Error{Class: driver.Permanent, Err: &driver.PayloadError{
		Fault: driver.PayloadForeign,
		Err: errors.New("the message points outside of the store's bucket and of those that s3store.Options.Sources " +
			"lists: add the place there if it is a trusted one"),
	}}
}

var errNoAnswer = fmt.Errorf("S3 has not answered within %v", answerWithin)

// readError explains the error of a read. It names no bucket and no key, because a message has named them.
func readError(err error) error {
	if codeOf(err) == "NoSuchBucket" { // a mistake of a configuration, which must not reject all messages as missing
		err = &driver.Error{Class: driver.Transient, Err: err}
	}
	err = classify(err)
	if driver.ClassOf(err) != driver.Denied {
		return fmt.Errorf("read the body from S3: %w", err)
	}
	return fmt.Errorf("read the body from S3: %w (it needs permission s3:GetObject, and kms:Decrypt if a KMS key encrypts "+
		"the object; without s3:ListBucket, S3 also refuses to say that there is no such object)", err)
}
