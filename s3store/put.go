package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/godwitmq/godwit/driver"
)

const (
	// wholeUpTo: a larger body is uploaded in parts, so that a broken connection costs one part.
	wholeUpTo = 16 << 20
	// partSize is the size of a part. One part of a Reader is in memory at a time.
	partSize = 8 << 20
	// maxParts is S3's limit.
	maxParts = 10_000
	// abortWithin bounds the call that removes the parts of an upload that failed.
	abortWithin = 10 * time.Second
)

// Put writes a body as a new object. Each request is repeated for 20 s at most.
func (s *Store) Put(ctx context.Context, folder string, body io.Reader, size int64) (driver.Location, error) {
	if size > partSize*maxParts {
		return driver.Location{}, &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf(
			"the body has %d bytes, and an upload has at most %d", size, int64(partSize*maxParts))}
	}
	key, err := s.newKey(folder)
	if err != nil {
		return driver.Location{}, err
	}
	b := &source{from: body, left: size}
	if known, ok := body.(hashed); ok {
		b.from, b.sum = known.InMemory(), known.SHA256()
	}
	if size < 0 {
		if err := b.measure(); err != nil {
			return driver.Location{}, err
		}
	}
	if b.left <= wholeUpTo {
		err = s.putWhole(ctx, key, b)
	} else {
		err = s.inParts(ctx, key, func(id string) ([]types.CompletedPart, error) { return s.parts(ctx, key, id, b) })
	}
	if err != nil {
		return driver.Location{}, fmt.Errorf("write the body to bucket %s: %w", s.o.Bucket,
			permission(classify(err), "s3:PutObject"))
	}
	return driver.Location{Bucket: s.o.Bucket, Key: key}, nil
}

// putWhole writes a body with one request.
func (s *Store) putWhole(ctx context.Context, key string, b *source) error {
	whole, n, err := b.next(wholeUpTo)
	if err == nil {
		err = b.end()
	}
	if err != nil {
		return err
	}
	ctx, cancel := within(ctx, n)
	defer cancel()
	in := &s3.PutObjectInput{
		Bucket: &s.o.Bucket, Key: &key, Body: whole, ContentLength: &n, IfNoneMatch: once(),
	}
	in.ServerSideEncryption, in.SSEKMSKeyId, in.BucketKeyEnabled = s.encryption()
	_, err = s.s3.PutObject(ctx, in, repeating(), b.summed)
	if s.createdAgain(ctx, err) {
		_, err = s.s3.PutObject(ctx, in, repeating(), b.summed)
	}
	return written(err)
}

// once makes a write fail if there is an object with the key. Nobody else knows the key, so the object is that of an
// earlier try whose answer was lost.
func once() *string {
	star := "*"
	return &star
}

// written turns the answer to a repetition of a successful write into a success.
func written(err error) error {
	if codeOf(err) == "PreconditionFailed" {
		return nil
	}
	return err
}

// encryption is what a write says about the key. With the SDK's zero values the bucket's own setting applies.
func (s *Store) encryption() (types.ServerSideEncryption, *string, *bool) {
	if s.o.Encryption == "" {
		return "", nil, nil
	}
	yes := true
	return types.ServerSideEncryptionAwsKms, &s.o.Encryption, &yes
}

// inParts writes an object whose parts upload writes. If that fails, or ctx ends, it removes the parts.
func (s *Store) inParts(
	ctx context.Context, key string, upload func(id string) ([]types.CompletedPart, error),
) error {
	id, err := s.begin(ctx, key)
	if err != nil {
		return err
	}
	parts, err := upload(id)
	if err == nil {
		err = s.complete(ctx, key, id, parts)
	}
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortWithin)
	defer cancel()
	_, aborted := s.s3.AbortMultipartUpload(ctx,
		&s3.AbortMultipartUploadInput{Bucket: &s.o.Bucket, Key: &key, UploadId: &id})
	if aborted != nil && codeOf(aborted) != "NoSuchUpload" {
		return errors.Join(err,
			fmt.Errorf("remove the parts of the upload, which the bucket's lifecycle removes later: %w", aborted))
	}
	return err
}

func (s *Store) begin(ctx context.Context, key string) (id string, err error) {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	in := &s3.CreateMultipartUploadInput{Bucket: &s.o.Bucket, Key: &key}
	in.ServerSideEncryption, in.SSEKMSKeyId, in.BucketKeyEnabled = s.encryption()
	out, err := s.s3.CreateMultipartUpload(ctx, in, repeating())
	if s.createdAgain(ctx, err) {
		out, err = s.s3.CreateMultipartUpload(ctx, in, repeating())
	}
	if err != nil {
		return "", err
	}
	return deref(out.UploadId), nil
}

// parts uploads the parts one after another.
func (s *Store) parts(ctx context.Context, key, id string, b *source) (parts []types.CompletedPart, err error) {
	for number := int32(1); b.left > 0; number++ {
		part, n, err := b.next(partSize)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break // the body, whose size was unknown, has ended with the last part
		}
		if number > maxParts {
			return nil, &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf(
				"the body has more than %d bytes, the most that an upload has", int64(partSize*maxParts))}
		}
		done, err := s.part(ctx, &s3.UploadPartInput{
			Bucket: &s.o.Bucket, Key: &key, UploadId: &id, PartNumber: &number, Body: part, ContentLength: &n,
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, done)
	}
	return parts, b.end()
}

func (s *Store) part(ctx context.Context, in *s3.UploadPartInput) (types.CompletedPart, error) {
	ctx, cancel := within(ctx, *in.ContentLength)
	defer cancel()
	out, err := s.s3.UploadPart(ctx, in, repeating())
	if err != nil {
		return types.CompletedPart{}, err
	}
	// S3 has verified the part by the checksum of the request. It refuses a list with checksums, because the upload was
	// created without an algorithm.
	return types.CompletedPart{PartNumber: in.PartNumber, ETag: out.ETag}, nil
}

func (s *Store) complete(ctx context.Context, key, id string, parts []types.CompletedPart) error {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	_, err := s.s3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.o.Bucket, Key: &key, UploadId: &id, IfNoneMatch: once(),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	}, repeating())
	if codeOf(err) != "NoSuchUpload" {
		return written(err)
	}
	// An earlier try whose answer was lost may have completed it.
	_, missing := s.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.o.Bucket, Key: &key}, repeating())
	if missing != nil {
		return errors.Join(err, missing)
	}
	return nil
}

// hashed is a body in memory whose SHA-256 is known, in hexadecimal digits. Package internal/claim writes such bodies.
type hashed interface {
	InMemory() *bytes.Reader
	SHA256() string
}

// source is a body that is being uploaded.
type source struct {
	from  io.Reader
	left  int64  // bytes that were not read
	at    int64  // bytes that were read
	buf   []byte // of a part; nil: not needed yet
	ahead int    // bytes in buf that next has not returned yet
	open  bool   // left is unknown: the body ends with its reader
	sum   string // the SHA-256 of the whole body, in hexadecimal digits; "": it is not known
}

// summed gives a request with the whole body its SHA-256, which the SDK would compute again to sign a request without
// TLS.
func (b *source) summed(so *s3.Options) {
	if b.sum == "" {
		return
	}
	so.APIOptions = append(so.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("godwitSHA256", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(v4.SetPayloadHash(ctx, b.sum), in)
		}), middleware.Before)
	})
}

// measure reads the first part of a body of unknown size. A body that ends with it has a known size then.
func (b *source) measure() error {
	b.buf = make([]byte, partSize)
	var err error
	switch b.ahead, err = io.ReadFull(b.from, b.buf); {
	case err == nil:
		b.left, b.open = math.MaxInt64, true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		b.left = int64(b.ahead)
	default:
		return readerError(err)
	}
	return nil
}

// next returns the next bytes, at most so many, as a reader that can be rewound for a repetition, until the next call.
// Parts of a body in memory are not copied.
func (b *source) next(most int64) (part io.ReadSeeker, n int64, err error) {
	n = min(b.left, most)
	defer func() { b.left, b.at = b.left-n, b.at+n }()
	if from, ok := b.from.(*bytes.Reader); ok && b.buf == nil {
		if from.Size()-b.at < n {
			return nil, n, short(b.at, b.left)
		}
		return io.NewSectionReader(from, b.at, n), n, nil
	}
	if b.buf == nil {
		b.buf = make([]byte, n)
	}
	got, err := io.ReadFull(b.from, b.buf[b.ahead:n])
	got, b.ahead = got+b.ahead, 0
	switch {
	case b.open && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		n = int64(got)
		b.left, b.open = n, false
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, n, short(b.at+int64(got), b.left-int64(got))
	case err != nil:
		return nil, n, readerError(err)
	}
	return bytes.NewReader(b.buf[:n]), n, nil
}

// end checks that the body has no more bytes than announced.
func (b *source) end() error {
	if from, ok := b.from.(*bytes.Reader); ok && b.buf == nil {
		if from.Size() > b.at {
			return long(b.at)
		}
		return nil
	}
	var one [1]byte
	if n, _ := io.ReadFull(b.from, one[:]); n > 0 {
		return long(b.at)
	}
	return nil
}

// readerError is an error of the sender's Reader. One that has a class, because the Reader is a body of another store,
// keeps it.
func readerError(err error) error {
	var known *driver.Error
	err = fmt.Errorf("read the body from its Reader: %w", err)
	if errors.As(err, &known) {
		return err
	}
	return &driver.Error{Class: driver.Permanent, Err: err}
}

func short(at, left int64) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
		"the Reader ended after %d bytes, and Size says %d: set Size to the number of bytes", at, at+left)}
}

func long(size int64) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf(
		"the Reader has more than the %d bytes that Size says: set Size to the number of bytes", size)}
}
