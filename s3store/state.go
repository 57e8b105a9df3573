package s3store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
)

// mostState bounds a state that is read, so that a wrong key does not fill the memory.
const mostState = 64 << 20

// StateOptions are the options of OpenState. Bucket and Key are required.
type StateOptions struct {
	// Bucket is the name of the bucket, which exists already. Set it to one whose lifecycle keeps the object: without
	// the object, everything is told again.
	Bucket string
	// Key is the name of the object. Set it to one that is not below the prefix of a [Store], whose lifecycle would
	// delete it.
	Key string
	// AWS is an SDK configuration (region, credentials, endpoint). Set it when the environment is not the right source.
	// nil: loaded from the environment.
	AWS *aws.Config
	// S3 is a client of the caller; nil: created from AWS. Set it when calls need middleware, credentials or an
	// endpoint of their own.
	S3 *s3.Client
	// Transport carries the requests; set it for a proxy or an in-process server. nil: the SDK's own connection pool.
	Transport http.RoundTripper
}

// State is a small text in an object of S3 that several programs change, none of which overwrites the change of
// another. It is a State of package ops. It needs the permissions s3:GetObject, s3:PutObject and, so that an
// object that does not exist is not taken for a denied one, s3:ListBucket.
type State struct {
	bucket, key string
	s3          *s3.Client
}

// OpenState creates the client; it makes no request.
func OpenState(ctx context.Context, o *StateOptions) (*State, error) {
	o = cmp.Or(o, &StateOptions{})
	if o.Key == "" || len(o.Key) > 1024 || strings.HasPrefix(o.Key, "/") || strings.HasSuffix(o.Key, "/") ||
		!straight(o.Key) {
		return nil, fmt.Errorf("s3store: StateOptions.Key is %q: name an object, such as godwit/alerts.json", o.Key)
	}
	store, err := Open(ctx, &Options{Bucket: o.Bucket, AWS: o.AWS, S3: o.S3, Transport: o.Transport})
	if err != nil {
		return nil, err
	}
	return &State{bucket: o.Bucket, key: o.Key, s3: store.s3}, nil
}

// Load reads the object. The version is its entity tag.
func (s *State) Load(ctx context.Context) (text []byte, version string, err error) {
	out, err := s.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &s.key})
	switch code := codeOf(err); {
	case code == "NoSuchKey":
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("read %s: %w", s, permission(classify(err), "s3:GetObject and s3:ListBucket"))
	}
	text, err = io.ReadAll(io.LimitReader(out.Body, mostState+1))
	err = errors.Join(err, out.Body.Close())
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("read %s: %w", s, classify(err))
	case len(text) > mostState:
		return nil, "", fmt.Errorf("read %s: it has more than %d bytes, so it is no state: check the key", s, mostState)
	}
	return text, deref(out.ETag), nil
}

// Store writes the object, if it still has the version (If-Match), or does not exist (If-None-Match).
func (s *State) Store(ctx context.Context, text []byte, version string) error {
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &s.key, Body: bytes.NewReader(text), ContentType: aws.String("application/json"),
	}
	if version == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &version
	}
	_, err := s.s3.PutObject(ctx, in)
	switch codeOf(err) {
	case "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey": // the last: it was deleted
		return driver.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s, permission(classify(err), "s3:PutObject"))
	}
	return nil
}

// String is the address of the object.
func (s *State) String() string { return "s3://" + s.bucket + "/" + s.key }
