package s3

import (
	"crypto/md5" //nolint:gosec // S3's ETag
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

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
func (in *SourceInput) open(s *Service, c *rest.Call) (*bucket.Bucket, *bucket.Object, error) {
	b, key, err := in.address(s, c)
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
	if failed, _ := conditions.failed(o, s.now()); failed != "" {
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
func (in *SourceInput) address(s *Service, c *rest.Call) (*bucket.Bucket, string, error) {
	path, version, _ := strings.Cut(in.CopySource, "?versionId=")
	text, err := url.QueryUnescape(strings.TrimPrefix(path, "/")) // some clients write + for a space
	if err != nil || !utf8.ValidString(text) {
		return nil, "", badSource("Invalid copy source encoding.")
	}
	name, key, _ := strings.Cut(text, "/")
	b := s.store.Bucket(name)
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
		!mayUse(c, b):
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
