package s3

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
)

// ListBucketsInput is the input of ListBuckets.
type ListBucketsInput struct {
	BucketRegion      string `rest:"query,bucket-region"`
	ContinuationToken string `rest:"query,continuation-token"`
	MaxBuckets        *int   `rest:"query,max-buckets"`
	Prefix            string `rest:"query,prefix"`
}

// ListBucketsOutput is the output of ListBuckets.
type ListBucketsOutput struct {
	Buckets           []ListedBucket `xml:"Buckets>Bucket"`
	Owner             *Owner
	ContinuationToken *string
	Prefix            *string
}

// ListedBucket is a bucket in the list of buckets.
type ListedBucket struct {
	Name         string
	CreationDate time.Time
	BucketRegion string
	BucketARN    string `xml:"BucketArn"`
}

const maxBuckets = 10_000 // S3: buckets of a page, and in an account

// listBuckets lists the buckets of all regions, wherever the request is signed for, unless bucket-region selects (AWS's
// API reference, ListBuckets).
func (s *Service) listBuckets(_ context.Context, c *rest.Call, in *ListBucketsInput) (*ListBucketsOutput, error) {
	if err := checkSignedRegion(c); err != nil {
		return nil, err
	}
	limit := maxBuckets
	if in.MaxBuckets != nil {
		if limit = *in.MaxBuckets; limit < 1 || limit > maxBuckets {
			return nil, rest.InvalidArgument("Argument max-buckets must be an integer between 1 and 10000", "max-buckets",
				itoa(limit))
		}
	}
	if in.BucketRegion != "" && !s.knownRegion(in.BucketRegion, c.Region) {
		return nil, rest.Refuse(400, "InvalidArgument", "Argument value "+in.BucketRegion+" is not a valid AWS Region",
			"ArgumentName", "bucket-region")
	}
	after, err := readToken(in.ContinuationToken)
	if err != nil {
		return nil, err
	}
	out := &ListBucketsOutput{Buckets: []ListedBucket{}, Owner: owner(c.Account)}
	if in.Prefix != "" {
		out.Prefix = &in.Prefix
	}
	for _, b := range s.store.Buckets() {
		if b.Account() != c.Account || b.Name() <= after || !strings.HasPrefix(b.Name(), in.Prefix) ||
			in.BucketRegion != "" && in.BucketRegion != b.Region() {
			continue
		}
		if len(out.Buckets) == limit {
			token := writeToken(out.Buckets[limit-1].Name)
			out.ContinuationToken = &token
			break
		}
		out.Buckets = append(out.Buckets, ListedBucket{b.Name(), b.Created(), b.Region(), b.ARN()})
	}
	return out, nil
}

// tokenMark begins a token, so that another text is not taken for one.
const tokenMark = "1:"

func writeToken(last string) string {
	return base64.URLEncoding.EncodeToString([]byte(tokenMark + last))
}

func readToken(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	text, err := base64.URLEncoding.DecodeString(token)
	last, ok := strings.CutPrefix(string(text), tokenMark)
	if err != nil || !ok {
		return "", badToken()
	}
	return last, nil
}

func badToken() error {
	return rest.Refuse(400, "InvalidArgument", "The continuation token provided is incorrect",
		"ArgumentName", "continuation-token")
}
