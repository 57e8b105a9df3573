package s3

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CopyObjectInput is the input of CopyObject.
type CopyObjectInput struct {
	Bucket            string `rest:"bucket"`
	Key               string `rest:"key"`
	ChecksumAlgorithm string `rest:"header,x-amz-checksum-algorithm"`
	IfMatch           string `rest:"header,If-Match"`
	IfNoneMatch       string `rest:"header,If-None-Match"`
	MetadataDirective string `rest:"header,x-amz-metadata-directive"`
	TaggingDirective  string `rest:"header,x-amz-tagging-directive"`
	SourceInput
	Given
}

// CopyObjectOutput is the output of CopyObject.
type CopyObjectOutput struct {
	Expiration string `rest:"header,x-amz-expiration"`
	ShownEncryption
	ETag         string `xml:"ETag"`
	LastModified time.Time
	ChecksumType *string
	ChecksumElements
}

// copyObject refuses a copy in place that changes nothing, but not where the bucket has an encryption, and reads `+` in
// the source as a space (recorded on AWS, 2026-02: TestRecordedS3Copies). A copy of an object with parts has none, and
// another ETag.
func (s *Service) copyObject(_ context.Context, c *rest.Call, in *CopyObjectInput) (*CopyObjectOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := checkKey(in.Key); err != nil {
		return nil, err
	}
	from, source, err := in.open(s, c)
	if err != nil {
		return nil, err
	}
	defer source.Content.Release()
	condition, err := writeCondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	watch := b.Watch(in.Key)
	defer watch.End()
	if err := b.Check(in.Key, condition); err != nil {
		return nil, modelError(err, b, in.Key, "", condition)
	}
	o, err := in.make(s, b, source, from == b && source.Key == in.Key)
	if err != nil {
		return nil, err
	}
	o.Content.Retain()
	if err := b.Put(o, condition, watch); err != nil {
		return nil, modelError(err, b, in.Key, "", condition)
	}
	s.notify(c, b, "ObjectCreated:Copy", o)
	return &CopyObjectOutput{
		Expiration: expiration(b.Settings(), o), ShownEncryption: shownEncryption(o.Encryption), ETag: quote(o.ETag),
		LastModified: o.Modified, ChecksumElements: checksumElements(o.Checksum), ChecksumType: &o.Checksum.Type,
	}, nil
}

// make returns the copy, which shares the content of its source.
func (in *CopyObjectInput) make(
	s *Service, b *bucket.Bucket, source *bucket.Object, same bool,
) (*bucket.Object, error) {
	if source.Size() > maxUpload {
		return nil, invalidRequest("The specified copy source is larger than the maximum allowable size for a copy " +
			"source: 5368709120")
	}
	given, err := in.properties(b)
	if err != nil {
		return nil, err
	}
	for name, directive := range map[string]string{
		"x-amz-metadata-directive": in.MetadataDirective, "x-amz-tagging-directive": in.TaggingDirective,
	} {
		if directive != "" && directive != "COPY" && directive != "REPLACE" {
			return nil, rest.InvalidArgument("Unknown directive.", name, directive)
		}
	}
	changes := in.MetadataDirective == "REPLACE" || in.TaggingDirective == "REPLACE" || in.StorageClass != "" ||
		in.ServerSideEncryption != "" || in.SSECustomerAlgorithm != "" || in.WebsiteRedirectLocation != "" ||
		in.ChecksumAlgorithm != "" || b.Settings().Encryption != nil || source.Encryption != given.Encryption
	if same && !changes {
		return nil, invalidRequest("This copy request is illegal because it is trying to copy an object to itself " +
			"without changing the object's metadata, storage class, website redirect location or encryption attributes.")
	}
	if in.MetadataDirective != "REPLACE" {
		given.Headers, given.Metadata = source.Headers, source.Metadata
	}
	if in.TaggingDirective != "REPLACE" {
		given.Tags = source.Tags
	}
	o := &bucket.Object{Key: in.Key, Modified: s.now(), Content: source.Content, Properties: given}
	return o, in.sum(o, source)
}

// sum sets ETag and checksum of the copy, which is put as a whole even if its source has parts.
func (in *CopyObjectInput) sum(o, source *bucket.Object) error {
	algorithm := strings.ToUpper(in.ChecksumAlgorithm)
	if err := checkAlgorithm(algorithm); err != nil {
		return err
	}
	algorithm = cmp.Or(algorithm, source.Checksum.Algorithm, rest.Default)
	o.ETag, o.Checksum = source.ETag, source.Checksum
	if algorithm == o.Checksum.Algorithm && len(source.Parts) == 0 {
		return nil
	}
	etag, sum, err := digest(source.Content, algorithm)
	o.ETag, o.Checksum = etag, bucket.Checksum{Algorithm: algorithm, Type: fullObject, Value: sum}
	return err
}
