package s3

import (
	"cmp"
	"encoding/hex"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// UploadPartInput is the input of UploadPart, without the body.
type UploadPartInput struct {
	Bucket     string `rest:"bucket"`
	Key        string `rest:"key"`
	PartNumber *int   `rest:"query,partNumber"`
	UploadID   string `rest:"query,uploadId"`
	CustomerKey
}

// UploadPartOutput is the output of UploadPart.
type UploadPartOutput struct {
	ETag string `rest:"header,ETag"`
	ShownChecksum
	ShownEncryption
}

const maxParts = 10_000 // S3: the parts of an upload

func badPartNumber(n int) error {
	return rest.InvalidArgument("Part number must be an integer between 1 and 10000, inclusive", "partNumber", itoa(n))
}

// uploadPart replaces a part of the same number. Whether a part is too small is decided only when the upload is
// completed, because the last one may be (AWS's API reference, UploadPart).
func uploadPart(c call, b *bucket.Bucket, in *UploadPartInput) (*UploadPartOutput, error) {
	u, err := upload(b, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := in.checkNumber(); err != nil {
		return nil, err
	}
	if err := checkPartSum(u, c.Body.Algorithm()); err != nil {
		return nil, err
	}
	if err := in.fits(u); err != nil {
		return nil, err
	}
	otherwise := rest.Default
	if u.Checksum.Algorithm != "" {
		otherwise = u.Checksum.Algorithm
	}
	got, err := c.Body.Receive(maxUpload, otherwise, u.Checksum.Algorithm == "")
	if err != nil {
		return nil, err
	}
	p := &bucket.Part{
		Number: *in.PartNumber, ETag: hex.EncodeToString(got.MD5), Modified: c.at.now(),
		Content:  c.at.store.Whole(got.Blob, got.Size),
		Checksum: bucket.Checksum{Algorithm: got.Algorithm, Value: got.Checksum}, Second: got.Second,
	}
	if err := b.PutPart(u.ID, p); err != nil {
		return nil, modelError(err, b, in.Key, u.ID, bucket.Condition{})
	}
	out := &UploadPartOutput{ETag: quote(p.ETag), ShownEncryption: shownEncryption(u.Encryption)}
	if got.Claimed || u.Checksum.Algorithm != "" {
		out.ShownChecksum = shownChecksum(p.Checksum)
	}
	return out, nil
}

func (in *UploadPartInput) checkNumber() error {
	switch n := in.PartNumber; {
	case n == nil:
		return badPartNumber(0)
	case *n < 1 || *n > maxParts:
		return badPartNumber(*n)
	}
	return nil
}

// upload returns an upload of a key.
func upload(b *bucket.Bucket, key, id string) (*bucket.Upload, error) {
	u, _, ok := b.Parts(id)
	if !ok || u.Key != key {
		return nil, noSuchUpload(id)
	}
	return u, nil
}

// checkPartSum compares the checksum of a part with what the upload was created with.
func checkPartSum(u *bucket.Upload, algorithm string) error {
	want := u.Checksum.Algorithm
	if want == "" || algorithm == want || algorithm == "" && u.Checksum.Type == fullObject {
		return nil
	}
	algorithm = cmp.Or(algorithm, "null")
	return invalidRequest("Checksum Type mismatch occurred, expected checksum Type: " + strings.ToLower(want) +
		", actual checksum Type: " + strings.ToLower(algorithm))
}

// UploadPartCopyInput is the input of UploadPartCopy.
type UploadPartCopyInput struct {
	CopySourceRange string `rest:"header,x-amz-copy-source-range"`
	SourceInput
	UploadPartInput
}

// UploadPartCopyOutput is the output of UploadPartCopy.
type UploadPartCopyOutput struct {
	ShownEncryption
	ETag         string `xml:"ETag"`
	LastModified time.Time
	ChecksumElements
}

// uploadPartCopy has its ETag in the body, unlike UploadPart. A range needs both ends, and must lie within the source
// (AWS's API reference, UploadPartCopy).
func uploadPartCopy(c call, b *bucket.Bucket, in *UploadPartCopyInput) (*UploadPartCopyOutput, error) {
	u, err := upload(b, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := in.checkNumber(); err != nil {
		return nil, err
	}
	if err := in.fits(u); err != nil {
		return nil, err
	}
	_, source, err := in.open(c)
	if err != nil {
		return nil, err
	}
	defer source.Content.Release()
	content, err := in.content(source)
	if err != nil {
		return nil, err
	}
	p := &bucket.Part{Number: *in.PartNumber, Modified: c.at.now(), Content: content}
	p.Checksum.Algorithm = rest.Default
	if u.Checksum.Algorithm != "" {
		p.Checksum.Algorithm = u.Checksum.Algorithm
	}
	if p.ETag, p.Checksum.Value, err = digest(content, p.Checksum.Algorithm); err != nil {
		return nil, err
	}
	content.Retain()
	if err := b.PutPart(u.ID, p); err != nil {
		return nil, modelError(err, b, in.Key, u.ID, bucket.Condition{})
	}
	out := &UploadPartCopyOutput{
		ShownEncryption: shownEncryption(u.Encryption), ETag: quote(p.ETag), LastModified: p.Modified,
	}
	if u.Checksum.Algorithm != "" {
		out.ChecksumElements = checksumElements(p.Checksum)
	}
	return out, nil
}

// content returns the range of the source that becomes the part.
func (in *UploadPartCopyInput) content(source *bucket.Object) (bucket.Content, error) {
	if in.CopySourceRange == "" {
		if source.Size() > maxUpload {
			return bucket.Content{}, invalidRequest("The specified copy source is larger than the maximum allowable size " +
				"for a copy source: 5368709120")
		}
		return source.Content, nil
	}
	first, last, ok := parseRange(in.CopySourceRange)
	switch {
	case !ok || first < 0 || last < 0:
		return bucket.Content{}, rest.InvalidArgument("The x-amz-copy-source-range value must be of the form bytes=first-last "+
			"where first and last are the zero-based offsets of the first and last bytes to copy",
			"x-amz-copy-source-range", in.CopySourceRange)
	case first >= source.Size():
		return bucket.Content{}, invalidRequest("The specified copy range is invalid for the source object size")
	case last >= source.Size():
		return bucket.Content{}, rest.InvalidArgument("Range specified is not valid for source object of size: "+
			itoa(int(source.Size())), "x-amz-copy-source-range", in.CopySourceRange)
	}
	return source.Content.Range(first, last-first+1), nil
}

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
func listParts(_ call, b *bucket.Bucket, in *ListPartsInput) (*ListPartsOutput, error) {
	u, parts, ok := b.Parts(in.UploadID)
	if !ok || u.Key != in.Key {
		return nil, noSuchUpload(in.UploadID)
	}
	limit, err := pageSize(in.MaxParts, "max-parts")
	if err != nil {
		return nil, err
	}
	out := &ListPartsOutput{
		Bucket: in.Bucket, Key: in.Key, UploadID: u.ID, MaxParts: limit, Initiator: initiator(b),
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
