package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

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
func (s *Service) listObjectsV2(_ context.Context, c *rest.Call, in *ListObjectsV2Input) (*ListObjectsV2Output, error) {
	b, e, limit, err := s.listing(c, in.Bucket, in.EncodingType, in.MaxKeys, "max-keys")
	if err != nil {
		return nil, err
	}
	q := bucket.Query{Prefix: in.Prefix, Delimiter: in.Delimiter, After: in.StartAfter, Limit: limit}
	if in.ContinuationToken != nil {
		if q.After, err = readToken(*in.ContinuationToken); err != nil || q.After == "" {
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
		token := writeToken(page.Last)
		out.NextContinuationToken = &token
	}
	return out, nil
}
