package s3

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ListPartsInput is the input of ListParts.
type ListPartsInput struct {
	Bucket           string `rest:"bucket"`
	Key              string `rest:"key"`
	MaxParts         *int   `rest:"query,max-parts"`
	PartNumberMarker *int   `rest:"query,part-number-marker"`
	UploadID         string `rest:"query,uploadId"`
}

// ListPartsOutput is the output of ListParts.
type ListPartsOutput struct {
	AbortDate            string `rest:"header,x-amz-abort-date"`
	AbortRuleID          string `rest:"header,x-amz-abort-rule-id"`
	Bucket               string
	Key                  string
	UploadID             string `xml:"UploadId"`
	PartNumberMarker     int
	NextPartNumberMarker int
	MaxParts             int
	IsTruncated          bool
	Part                 []ListedPart
	Initiator            *Initiator
	Owner                *Owner
	StorageClass         string
	ChecksumAlgorithm    *string
	ChecksumType         *string
}

// ListedPart is a part in a list.
type ListedPart struct {
	PartNumber   int
	LastModified time.Time
	ETag         string
	Size         int64
	ChecksumElements
}

// listParts lists a part with its number once, as it was uploaded last, and its checksum only if the upload has an
// algorithm.
func (s *Service) listParts(_ context.Context, c *rest.Call, in *ListPartsInput) (*ListPartsOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	u, parts, ok := b.Parts(in.UploadID)
	if !ok || u.Key != in.Key {
		return nil, noSuchUpload(in.UploadID)
	}
	limit, err := pageSize(in.MaxParts, "max-parts")
	if err != nil {
		return nil, err
	}
	out := &ListPartsOutput{
		Bucket: in.Bucket, Key: in.Key, UploadID: u.ID, MaxParts: limit, Initiator: initiator(b.Account()),
		Owner:        owner(b.Account()),
		StorageClass: u.StorageClass,
	}
	out.AbortDate, out.AbortRuleID = abortion(b.Settings(), u)
	if u.Checksum.Algorithm != "" {
		out.ChecksumAlgorithm, out.ChecksumType = &u.Checksum.Algorithm, &u.Checksum.Type
	}
	if in.PartNumberMarker != nil {
		out.PartNumberMarker = *in.PartNumberMarker
	}
	for _, p := range parts {
		switch {
		case p.Number <= out.PartNumberMarker:
			continue
		case len(out.Part) == limit:
			out.IsTruncated = limit > 0
			return out, nil
		}
		listed := ListedPart{
			PartNumber: p.Number, LastModified: p.Modified, ETag: quote(p.ETag), Size: p.Content.Size(),
		}
		if u.Checksum.Algorithm != "" {
			listed.ChecksumElements = checksumElements(p.Checksum)
		}
		out.Part, out.NextPartNumberMarker = append(out.Part, listed), p.Number
	}
	return out, nil
}

// abortion returns the headers that say when an upload is aborted.
func abortion(set *bucket.Settings, u *bucket.Upload) (date, rule string) {
	at, rule, ok := set.Abortion(u)
	if !ok {
		return "", ""
	}
	return httpTime(at), rule
}
