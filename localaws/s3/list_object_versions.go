package s3

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ListObjectVersionsInput is the input of ListObjectVersions.
type ListObjectVersionsInput struct {
	Bucket          string  `rest:"bucket"`
	Delimiter       string  `rest:"query,delimiter"`
	EncodingType    *string `rest:"query,encoding-type"`
	KeyMarker       string  `rest:"query,key-marker"`
	MaxKeys         *int    `rest:"query,max-keys"`
	Prefix          string  `rest:"query,prefix"`
	VersionIDMarker string  `rest:"query,version-id-marker"`
}

// ListObjectVersionsOutput is the output of ListObjectVersions.
type ListObjectVersionsOutput struct {
	Name                string
	Prefix              *string
	KeyMarker           *string
	VersionIDMarker     *string `xml:"VersionIdMarker"`
	NextKeyMarker       *string
	NextVersionIDMarker *string `xml:"NextVersionIdMarker"`
	Delimiter           *string
	MaxKeys             int
	EncodingType        *string
	IsTruncated         bool
	Version             []ListedVersion
	CommonPrefixes      []CommonPrefix
}

// ListedVersion is an object in a list of versions: its only one.
type ListedVersion struct {
	Key          string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
	LastModified time.Time
	ETag         string
	Size         int64
	StorageClass string
	Owner        *Owner

	ChecksumAlgorithm *string
	ChecksumType      *string
}

// listObjectVersions answers as for a bucket that never had versions: each object is the latest, with the version null.
// A page that ends with a common prefix has no version marker (recorded on AWS, 2025-01 to 2026-02:
// TestRecordedS3Lists).
func (s *Service) listObjectVersions(
	_ context.Context, c *rest.Call, in *ListObjectVersionsInput,
) (*ListObjectVersionsOutput, error) {
	b, e, limit, err := s.listing(c, in.Bucket, in.EncodingType, in.MaxKeys, "max-keys")
	if err != nil {
		return nil, err
	}
	if in.VersionIDMarker != "" && in.KeyMarker == "" {
		return nil, rest.InvalidArgument("A version-id marker cannot be specified without a key marker.",
			"version-id-marker", in.VersionIDMarker)
	}
	page := b.List(bucket.Query{Prefix: in.Prefix, Delimiter: in.Delimiter, After: in.KeyMarker, Limit: limit})
	out := &ListObjectVersionsOutput{
		Name: in.Bucket, Prefix: e.pointer(in.Prefix), KeyMarker: e.pointer(in.KeyMarker),
		VersionIDMarker: &in.VersionIDMarker, MaxKeys: limit, EncodingType: e.named(), IsTruncated: page.More,
		CommonPrefixes: e.prefixes(page.Groups),
	}
	for _, o := range page.Objects {
		out.Version = append(out.Version, ListedVersion{
			Key: e.text(o.Key), VersionID: "null", IsLatest: true, LastModified: o.Modified, ETag: quote(o.ETag),
			Size: o.Size(), StorageClass: o.StorageClass, Owner: owner(b.Account()),
		})
		if o.Checksum.Value != "" {
			last := &out.Version[len(out.Version)-1]
			last.ChecksumAlgorithm, last.ChecksumType = &o.Checksum.Algorithm, &o.Checksum.Type
		}
	}
	out.Delimiter = e.optional(in.Delimiter)
	if page.More {
		out.NextKeyMarker = e.pointer(page.Last)
		if n := len(page.Objects); n > 0 && page.Objects[n-1].Key == page.Last { // a group has no version
			version := "null"
			out.NextVersionIDMarker = &version
		}
	}
	return out, nil
}
