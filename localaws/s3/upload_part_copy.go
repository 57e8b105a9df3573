package s3

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

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
func (s *Service) uploadPartCopy(
	_ context.Context, c *rest.Call, in *UploadPartCopyInput,
) (*UploadPartCopyOutput, error) {
	b, u, err := s.upload(c, in.Bucket, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := in.checkNumber(); err != nil {
		return nil, err
	}
	key := CustomerKey{in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5}
	if err := key.fits(u); err != nil {
		return nil, err
	}
	_, source, err := in.open(s, c)
	if err != nil {
		return nil, err
	}
	defer source.Content.Release()
	content, err := in.content(source)
	if err != nil {
		return nil, err
	}
	p := &bucket.Part{Number: *in.PartNumber, Modified: s.now(), Content: content}
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
