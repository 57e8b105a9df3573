package operator

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/s3store"
)

// State is an object of S3 by its address.
type State struct {
	Bucket, Key string
}

// ParseState reads s3://bucket/key. The key may be missing.
func ParseState(address string) (State, error) {
	rest, ok := strings.CutPrefix(address, "s3://")
	bucket, key, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return State{}, fmt.Errorf("%q is no address in S3: it has the form s3://bucket/key", address)
	}
	return State{bucket, key}, nil
}

// Open opens the state with the options, whose Bucket and Key it sets. nil: the environment's AWS.
func (s State) Open(ctx context.Context, o *s3store.StateOptions) (*s3store.State, error) {
	opts := *cmp.Or(o, &s3store.StateOptions{})
	opts.Bucket, opts.Key = s.Bucket, s.Key
	return s3store.OpenState(ctx, &opts)
}

// String is the address.
func (s State) String() string { return "s3://" + s.Bucket + "/" + s.Key }
