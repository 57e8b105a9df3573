package s3store

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/driver"
)

var _ driver.Lister = (*Store)(nil)

// List lists the objects of the store's own bucket below a folder, 1,000 with each request.
func (s *Store) List(ctx context.Context, folder string) iter.Seq2[driver.Object, error] {
	return func(yield func(driver.Object, error) bool) {
		prefix := s.o.Prefix + folder + "/"
		pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{
			Bucket: &s.o.Bucket, Prefix: &prefix,
			EncodingType: types.EncodingTypeUrl, // keys of other programs may have characters that XML has not
		})
		for pages.HasMorePages() {
			page, err := nextPage(ctx, pages)
			if err != nil {
				yield(driver.Object{}, fmt.Errorf("list the objects of bucket %s: %w", s.o.Bucket, err))
				return
			}
			for _, o := range page.Contents {
				if found, ours := listed(s.o.Bucket, o, prefix); ours && !yield(found, nil) {
					return
				}
			}
		}
	}
}

func nextPage(ctx context.Context, pages *s3.ListObjectsV2Paginator) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := within(ctx, 0)
	defer cancel()
	page, err := pages.NextPage(ctx, repeating())
	err = classify(err)
	if driver.ClassOf(err) == driver.Denied {
		err = fmt.Errorf("%w (it needs permission s3:ListBucket)", err)
	}
	return page, err
}

// listed is an object of a page; false: its key was not made by newKey.
func listed(bucket string, o types.Object, prefix string) (driver.Object, bool) {
	key, err := url.PathUnescape(deref(o.Key))
	if _, ours := keyTime(key); err != nil || !ours || !strings.HasPrefix(key, prefix) || !straight(key) {
		return driver.Object{}, false
	}
	return driver.Object{
		Location: driver.Location{Bucket: bucket, Key: key}, Size: deref(o.Size), Written: deref(o.LastModified),
	}, true
}
