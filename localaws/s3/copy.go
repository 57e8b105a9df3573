package s3

import (
	"cmp"
	"crypto/md5" //nolint:gosec // S3's ETag
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

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
func copyObject(c call, b *bucket.Bucket, in *CopyObjectInput) (*CopyObjectOutput, error) {
	if err := checkKey(in.Key); err != nil {
		return nil, err
	}
	from, source, err := in.open(c)
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
	o, err := in.make(c.at.now(), b, source, from == b && source.Key == in.Key)
	if err != nil {
		return nil, err
	}
	o.Content.Retain()
	if err := b.Put(o, condition, watch); err != nil {
		return nil, modelError(err, b, in.Key, "", condition)
	}
	c.at.notify(c.Call, b, "ObjectCreated:Copy", o)
	return &CopyObjectOutput{
		Expiration: expiration(b.Settings(), o), ShownEncryption: shownEncryption(o.Encryption), ETag: quote(o.ETag),
		LastModified: o.Modified, ChecksumElements: checksumElements(o.Checksum), ChecksumType: &o.Checksum.Type,
	}, nil
}

// make returns the copy, which shares the content of its source.
func (in *CopyObjectInput) make(
	now time.Time, b *bucket.Bucket, source *bucket.Object, same bool,
) (*bucket.Object, error) {
	if source.Size() > maxUpload {
		return nil, invalidRequest("The specified copy source is larger than the maximum allowable size for a copy " +
			"source: 5368709120")
	}
	given, err := in.properties(b)
	if err != nil {
		return nil, err
	}
	for _, directive := range [][2]string{
		{"x-amz-metadata-directive", in.MetadataDirective}, {"x-amz-tagging-directive", in.TaggingDirective},
	} {
		if text := directive[1]; text != "" && text != "COPY" && text != "REPLACE" {
			return nil, rest.InvalidArgument("Unknown directive.", directive[0], text)
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
	o := &bucket.Object{Key: in.Key, Modified: now, Content: source.Content, Properties: given}
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

// SourceInput says what is copied.
type SourceInput struct {
	CopySource                     string `rest:"header,x-amz-copy-source"`
	CopySourceIfMatch              string `rest:"header,x-amz-copy-source-if-match"`
	CopySourceIfModifiedSince      string `rest:"header,x-amz-copy-source-if-modified-since"`
	CopySourceIfNoneMatch          string `rest:"header,x-amz-copy-source-if-none-match"`
	CopySourceIfUnmodifiedSince    string `rest:"header,x-amz-copy-source-if-unmodified-since"`
	CopySourceSSECustomerAlgorithm string `rest:"header,x-amz-copy-source-server-side-encryption-customer-algorithm"`
	CopySourceSSECustomerKey       string `rest:"header,x-amz-copy-source-server-side-encryption-customer-key"`
	CopySourceSSECustomerKeyMD5    string `rest:"header,x-amz-copy-source-server-side-encryption-customer-key-MD5"`
	ExpectedSourceBucketOwner      string `rest:"header,x-amz-source-expected-bucket-owner"`
}

// open returns the object that is copied. The caller must release its content.
func (in *SourceInput) open(c call) (*bucket.Bucket, *bucket.Object, error) {
	b, key, err := in.address(c)
	if err != nil {
		return nil, nil, err
	}
	o := b.Open(key)
	if o == nil {
		return nil, nil, noSuchKey(key)
	}
	if o.StorageClass == "GLACIER" || o.StorageClass == "DEEP_ARCHIVE" {
		o.Content.Release()
		return nil, nil, rest.Refuse(403, "InvalidObjectState",
			"Operation is not valid for the source object's storage class", "StorageClass", o.StorageClass)
	}
	conditions := ReadConditions{
		match: in.CopySourceIfMatch, noneMatch: in.CopySourceIfNoneMatch, modifiedSince: in.CopySourceIfModifiedSince,
		unmodifiedSince: in.CopySourceIfUnmodifiedSince, prefix: "x-amz-copy-source-",
	}
	if failed, _ := conditions.failed(o, c.at.now()); failed != "" {
		err = preconditionFailed(failed)
	}
	own := CustomerKey{in.CopySourceSSECustomerAlgorithm, in.CopySourceSSECustomerKey, in.CopySourceSSECustomerKeyMD5}
	if err == nil {
		err = own.opens(o)
	}
	if err != nil {
		o.Content.Release()
		return nil, nil, err
	}
	return b, o, nil
}

// address reads the source's bucket and key.
func (in *SourceInput) address(c call) (*bucket.Bucket, string, error) {
	path, version, _ := strings.Cut(in.CopySource, "?versionId=")
	if scheme, address, ok := strings.Cut(path, "://"); ok && (scheme == "http" || scheme == "https") {
		_, path, _ = strings.Cut(address, "/") // the URL of an object (recorded on AWS: TestRecordedS3Copies)
	}
	text, err := url.QueryUnescape(strings.TrimPrefix(path, "/")) // some clients write + for a space
	if err != nil || !utf8.ValidString(text) {
		return nil, "", badSource("Invalid copy source encoding.")
	}
	name, key, _ := strings.Cut(text, "/")
	b := c.at.store.Bucket(name)
	switch {
	case b == nil && !validBucketName(name):
		return nil, "", badSource("Invalid copy source bucket name")
	case key == "":
		return nil, "", badSource("Invalid copy source object key")
	}
	if err := checkVersion(version); err != nil {
		return nil, "", err
	}
	if owner := in.ExpectedSourceBucketOwner; owner != "" {
		if bad := rest.CheckOwner(owner); bad != nil {
			return nil, "", bad
		}
	}
	switch {
	case b == nil:
		return nil, "", noSuchBucket(name)
	case in.ExpectedSourceBucketOwner != "" && in.ExpectedSourceBucketOwner != b.Account() ||
		!c.mayUse(b):
		return nil, "", accessDenied()
	}
	return b, key, nil
}

// badSource refuses a source. S3 tells the name of the header twice, not its value.
func badSource(message string) error {
	return rest.InvalidArgument(message, "x-amz-copy-source", "x-amz-copy-source")
}

// digest reads a content and returns its ETag and its checksum.
func digest(content bucket.Content, algorithm string) (etag, sum string, err error) {
	r := content.Reader()
	defer r.Close()
	whole, check := md5.New(), rest.NewHash(algorithm) //nolint:gosec // see the import
	if _, err := io.CopyBuffer(io.MultiWriter(whole, check), r, make([]byte, 64<<10)); err != nil {
		return "", "", fmt.Errorf("s3: read a stored object: %w", err)
	}
	return hex.EncodeToString(whole.Sum(nil)), base64.StdEncoding.EncodeToString(check.Sum(nil)), nil
}

// checkAlgorithm checks the name of a checksum in a request.
func checkAlgorithm(name string) error {
	if name != "" && !rest.KnownAlgorithm(name) {
		return invalidRequest("Checksum algorithm provided is unsupported. Please try again with any of the valid types: " +
			"[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
	}
	return nil
}
