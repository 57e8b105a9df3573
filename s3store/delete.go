package s3store

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/driver"
)

// Delete deletes objects of the store's own bucket and prefix, and of Sources with Delete, with one request a bucket.
// It leaves all others.
func (s *Store) Delete(ctx context.Context, at []driver.Location) error {
	in := map[Source][]types.ObjectIdentifier{}
	for i := range at {
		if src, listed := s.at(at[i]); listed && src.Delete {
			in[src] = append(in[src], types.ObjectIdentifier{Key: &at[i].Key})
		}
	}
	var errs []error
	for src, objects := range in {
		quiet := true
		out, err := s.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &src.Bucket, ExpectedBucketOwner: src.owner(),
			Delete: &types.Delete{Objects: objects, Quiet: &quiet},
		}, repeating())
		if err != nil {
			errs = append(errs, fmt.Errorf("delete objects of bucket %s: %w", src.Bucket,
				permission(classify(err), "s3:DeleteObject")))
			continue
		}
		for _, e := range out.Errors {
			errs = append(errs, fmt.Errorf("delete an object of bucket %s: %s: %s", src.Bucket, deref(e.Code),
				deref(e.Message)))
		}
	}
	return errors.Join(errs...)
}

func deref[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}
