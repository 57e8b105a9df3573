package s3

import (
	"net/url"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
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

// listing checks what the lists of a bucket have in common: the kind of encoding, and the size of a page with the name
// of the parameter for it.
func listing(kind *string, most *int, parameter string) (e encoder, limit int, err error) {
	if e, err = encoding(kind); err != nil {
		return false, 0, err
	}
	limit, err = pageSize(most, parameter)
	return e, limit, err
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
func listObjects(_ call, b *bucket.Bucket, in *ListObjectsInput) (*ListObjectsOutput, error) {
	e, limit, err := listing(in.EncodingType, in.MaxKeys, "max-keys")
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

// ListObjectsV2Input is the input of ListObjectsV2.
type ListObjectsV2Input struct {
	Bucket            string  `rest:"bucket"`
	ContinuationToken *string `rest:"query,continuation-token"`
	Delimiter         string  `rest:"query,delimiter"`
	EncodingType      *string `rest:"query,encoding-type"`
	FetchOwner        bool    `rest:"query,fetch-owner"`
	MaxKeys           *int    `rest:"query,max-keys"`
	Prefix            string  `rest:"query,prefix"`
	StartAfter        string  `rest:"query,start-after"`
}

// ListObjectsV2Output is the output of ListObjectsV2.
type ListObjectsV2Output struct {
	BucketRegion          string `rest:"header,x-amz-bucket-region"`
	Name                  string
	Prefix                *string
	Delimiter             *string
	MaxKeys               int
	EncodingType          *string
	KeyCount              int
	IsTruncated           bool
	ContinuationToken     *string
	NextContinuationToken *string
	StartAfter            *string
	Contents              []ListedObject
	CommonPrefixes        []CommonPrefix
}

// listObjectsV2 counts common prefixes as keys, and shows owners only with fetch-owner. start-after counts for the
// first page only (AWS's API reference, ListObjectsV2).
func listObjectsV2(_ call, b *bucket.Bucket, in *ListObjectsV2Input) (*ListObjectsV2Output, error) {
	e, limit, err := listing(in.EncodingType, in.MaxKeys, "max-keys")
	if err != nil {
		return nil, err
	}
	q := bucket.Query{Prefix: in.Prefix, Delimiter: in.Delimiter, After: in.StartAfter, Limit: limit}
	if in.ContinuationToken != nil {
		var known bool
		if q.After, known = wire.ReadPageToken(*in.ContinuationToken); !known || q.After == "" {
			return nil, badToken()
		}
	}
	page := b.List(q)
	out := &ListObjectsV2Output{
		BucketRegion: b.Region(), Name: in.Bucket, Prefix: e.pointer(in.Prefix), MaxKeys: limit,
		EncodingType: e.named(), KeyCount: len(page.Objects) + len(page.Groups), IsTruncated: page.More,
		ContinuationToken: in.ContinuationToken, CommonPrefixes: e.prefixes(page.Groups),
	}
	var whose *Owner
	if in.FetchOwner {
		whose = owner(b.Account())
	}
	out.Contents = e.objects(page.Objects, whose)
	out.Delimiter = e.optional(in.Delimiter)
	if in.ContinuationToken == nil { // the token has taken its place
		out.StartAfter = e.optional(in.StartAfter)
	}
	if page.More {
		token := wire.PageToken(page.Last)
		out.NextContinuationToken = &token
	}
	return out, nil
}

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
func listObjectVersions(_ call, b *bucket.Bucket, in *ListObjectVersionsInput) (*ListObjectVersionsOutput, error) {
	e, limit, err := listing(in.EncodingType, in.MaxKeys, "max-keys")
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
