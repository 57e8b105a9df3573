package s3

import (
	"net/url"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// maxPage is the most keys of a page, and how many there are unless the client says otherwise.
const maxPage = 1000

// ListedObject is an object in a list.
type ListedObject struct {
	Key               string
	LastModified      time.Time
	ETag              string
	ChecksumAlgorithm *string
	ChecksumType      *string
	Size              int64
	StorageClass      string
	Owner             *Owner
}

// CommonPrefix stands for all keys that begin with it.
type CommonPrefix struct{ Prefix string }

// encoder writes keys as the client wants them.
type encoder bool

func encoding(kind *string) (encoder, error) {
	switch {
	case kind == nil:
		return false, nil
	case *kind != "url":
		return false, rest.InvalidArgument("Invalid Encoding Method specified in Request", "encoding-type", *kind)
	}
	return true, nil
}

func (e encoder) text(key string) string {
	if !e {
		return key
	}
	return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
}

func (e encoder) pointer(key string) *string {
	key = e.text(key)
	return &key
}

// optional returns a text that the answer has only if the client sent it; nil: it did not.
func (e encoder) optional(text string) *string {
	if text == "" {
		return nil
	}
	return e.pointer(text)
}

// named returns the name of the encoding; nil: there is none.
func (e encoder) named() *string {
	if !e {
		return nil
	}
	name := "url"
	return &name
}

// listing checks what the lists of a bucket have in common: its name, the kind of encoding, and the size of a page with
// the name of the parameter for it.
func (s *Service) listing(c *rest.Call, name string, kind *string, most *int, parameter string) (
	b *bucket.Bucket, e encoder, limit int, err error,
) {
	if b, err = s.bucket(c, name); err != nil {
		return nil, false, 0, err
	}
	if e, err = encoding(kind); err != nil {
		return nil, false, 0, err
	}
	limit, err = pageSize(most, parameter)
	return b, e, limit, err
}

// pageSize returns the number of keys of a page.
func pageSize(asked *int, name string) (int, error) {
	switch {
	case asked == nil:
		return maxPage, nil
	case *asked < 0:
		return 0, rest.InvalidArgument("Argument "+name+" must be an integer between 0 and 2147483647", name,
			itoa(*asked))
	}
	return min(*asked, maxPage), nil
}

func (e encoder) objects(all []*bucket.Object, owner *Owner) []ListedObject {
	listed := make([]ListedObject, len(all))
	for i, o := range all {
		listed[i] = ListedObject{
			Key: e.text(o.Key), LastModified: o.Modified, ETag: quote(o.ETag), Size: o.Size(),
			StorageClass: o.StorageClass, Owner: owner,
		}
		if o.Checksum.Value != "" {
			listed[i].ChecksumAlgorithm, listed[i].ChecksumType = &o.Checksum.Algorithm, &o.Checksum.Type
		}
	}
	return listed
}

func (e encoder) prefixes(all []string) []CommonPrefix {
	listed := make([]CommonPrefix, len(all))
	for i, p := range all {
		listed[i] = CommonPrefix{e.text(p)}
	}
	return listed
}

func quote(etag string) string { return `"` + etag + `"` }
