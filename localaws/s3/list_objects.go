package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ListObjectsInput is the input of ListObjects.
type ListObjectsInput struct {
	Bucket       string  `rest:"bucket"`
	Delimiter    string  `rest:"query,delimiter"`
	EncodingType *string `rest:"query,encoding-type"`
	Marker       string  `rest:"query,marker"`
	MaxKeys      *int    `rest:"query,max-keys"`
	Prefix       string  `rest:"query,prefix"`
}

// ListObjectsOutput is the output of ListObjects.
type ListObjectsOutput struct {
	BucketRegion   string `rest:"header,x-amz-bucket-region"`
	Name           string
	Prefix         *string
	Marker         *string
	NextMarker     *string
	Delimiter      *string
	MaxKeys        int
	EncodingType   *string
	IsTruncated    bool
	Contents       []ListedObject
	CommonPrefixes []CommonPrefix
}

// listObjects has a NextMarker only with a delimiter; otherwise the last key is the next marker (AWS's API reference,
// ListObjects).
func (s *Service) listObjects(_ context.Context, c *rest.Call, in *ListObjectsInput) (*ListObjectsOutput, error) {
	b, e, limit, err := s.listing(c, in.Bucket, in.EncodingType, in.MaxKeys, "max-keys")
	if err != nil {
		return nil, err
	}
	page := b.List(bucket.Query{Prefix: in.Prefix, Delimiter: in.Delimiter, After: in.Marker, Limit: limit})
	out := &ListObjectsOutput{
		BucketRegion: b.Region(), Name: in.Bucket, Prefix: e.pointer(in.Prefix), Marker: e.pointer(in.Marker),
		MaxKeys: limit, EncodingType: e.named(), IsTruncated: page.More,
		Contents: e.objects(page.Objects, owner(b.Account())), CommonPrefixes: e.prefixes(page.Groups),
	}
	out.Delimiter = e.optional(in.Delimiter)
	if page.More && in.Delimiter != "" { // without a delimiter, the last key is the next marker
		out.NextMarker = e.pointer(page.Last)
	}
	return out, nil
}
