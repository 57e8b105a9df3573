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
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(answerWithin, func() { cancel(errNoAnswer) })
	out, err := s.s3.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &at.Bucket, Key: &at.Key, ExpectedBucketOwner: src.owner(),
	}, func(so *s3.Options) { so.Retryer = aws.NopRetryer{} })
	late.Stop()
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
			err = &driver.Error{Class: driver.Transient, Err: errors.Join(cause, err)}
		}
		cancel(nil)
		return nil, 0, readError(err)
	}
	size := int64(-1)
	if out.ContentLength != nil {
		size = *out.ContentLength
	}
	return &object{out.Body, func() { cancel(nil) }}, size, nil
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

// object is the body of an open object.
type object struct {
	io.ReadCloser
	end func()
}

// Close ends the request, also in the middle of the object.
func (o *object) Close() error {
	o.end()
	return o.ReadCloser.Close()
}
