package s3

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
	"github.com/godwitmq/godwit/localaws/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Given are the headers by which a client describes an object.
type Given struct {
	ACL                     string            `rest:"header,x-amz-acl"`
	CacheControl            string            `rest:"header,Cache-Control"`
	ContentDisposition      string            `rest:"header,Content-Disposition"`
	ContentEncoding         string            `rest:"header,Content-Encoding"`
	ContentLanguage         string            `rest:"header,Content-Language"`
	ContentType             string            `rest:"header,Content-Type"`
	Expires                 string            `rest:"header,Expires"`
	Metadata                map[string]string `rest:"metadata"`
	Tagging                 string            `rest:"header,x-amz-tagging"`
	StorageClass            string            `rest:"header,x-amz-storage-class"`
	ServerSideEncryption    string            `rest:"header,x-amz-server-side-encryption"`
	SSEKMSKeyID             string            `rest:"header,x-amz-server-side-encryption-aws-kms-key-id"`
	SSEKMSEncryptionContext string            `rest:"header,x-amz-server-side-encryption-context"`
	BucketKeyEnabled        *bool             `rest:"header,x-amz-server-side-encryption-bucket-key-enabled"`
	CustomerKey
	WebsiteRedirectLocation string `rest:"header,x-amz-website-redirect-location"`
}

const (
	defaultType   = "binary/octet-stream" // S3: of an object without Content-Type
	standard      = "STANDARD"
	maxMetadata   = 2 << 10 // S3: names and values of x-amz-meta-…
	aes256        = "AES256"
	kms           = "aws:kms"
	kmsDouble     = "aws:kms:dsse"
	maxTags       = 10 // S3: of an object
	maxBucketTags = 50 // S3: of a bucket
)

var storageClasses = []string{
	standard, "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE",
	"GLACIER_IR",
}

// properties checks the headers and returns what is kept of them.
func (g *Given) properties(b *bucket.Bucket) (bucket.Properties, error) {
	p := bucket.Properties{
		Headers: bucket.Headers{
			CacheControl: g.CacheControl, ContentDisposition: g.ContentDisposition,
			ContentEncoding: keptEncoding(g.ContentEncoding), ContentLanguage: g.ContentLanguage,
			ContentType: g.ContentType, Expires: g.Expires,
		},
		Metadata: g.Metadata, StorageClass: g.StorageClass, Redirect: g.WebsiteRedirectLocation, ACL: g.ACL,
	}
	p.Headers.ContentType = cmp.Or(p.Headers.ContentType, defaultType)
	p.StorageClass = cmp.Or(p.StorageClass, standard)
	if !slices.Contains(storageClasses, p.StorageClass) {
		return p, rest.Refuse(400, "InvalidStorageClass", "The storage class you specified is not valid",
			"StorageClassRequested", p.StorageClass)
	}
	size := 0
	for name, value := range g.Metadata {
		size += len(name) + len(value)
	}
	if size > maxMetadata {
		return p, rest.Refuse(400, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size",
			"Size", itoa(size), "MaxSizeAllowed", itoa(maxMetadata))
	}
	if err := checkACL(g.ACL, b.Settings()); err != nil {
		return p, err
	}
	var err error
	if p.Tags, err = taggingHeader(g.Tagging); err != nil {
		return p, err
	}
	p.Encryption, err = g.encryption(b)
	return p, err
}

// keptEncoding removes aws-chunked, which concerns only the request.
func keptEncoding(text string) string {
	var kept []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" && part != "aws-chunked" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ",")
}

// encryption returns what an object is said to be encrypted with: what the request says, or the bucket's default.
func (g *Given) encryption(b *bucket.Bucket) (bucket.Encryption, error) {
	if g.CustomerKey.given() {
		if g.ServerSideEncryption != "" {
			return bucket.Encryption{}, rest.InvalidArgument("Server Side Encryption with Customer provided key is "+
				"incompatible with the encryption method specified", "x-amz-server-side-encryption",
				g.ServerSideEncryption)
		}
		return bucket.Encryption{CustomerMD5: g.SSECustomerKeyMD5}, g.CustomerKey.check()
	}
	e := bucket.Encryption{Algorithm: aes256}
	if set := b.Settings().Encryption; set != nil {
		e = *set
	}
	switch g.ServerSideEncryption {
	case "":
		if g.SSEKMSKeyID != "" {
			return e, rest.InvalidArgument("Server Side Encryption with AWS KMS managed key requires HTTP header "+
				"x-amz-server-side-encryption : aws:kms", "x-amz-server-side-encryption", "")
		}
	case aes256:
		e = bucket.Encryption{Algorithm: aes256}
	case kms, kmsDouble:
		if e.Algorithm != g.ServerSideEncryption {
			e = bucket.Encryption{Algorithm: g.ServerSideEncryption}
		}
		if g.SSEKMSKeyID != "" {
			e.KMSKey = g.SSEKMSKeyID
		}
		e.Context = g.SSEKMSEncryptionContext
	default:
		return e, rest.InvalidArgument("The encryption method specified is not supported",
			"x-amz-server-side-encryption",
			g.ServerSideEncryption)
	}
	if g.BucketKeyEnabled != nil {
		e.BucketKey = *g.BucketKeyEnabled
	}
	if e.Algorithm == aes256 {
		e.BucketKey = false
		return e, nil
	}
	e.KMSKey = kmsKey(e.KMSKey, b)
	return e, nil
}

// kmsKey returns the ARN of a key; "": the key that AWS keeps for S3.
func kmsKey(key string, b *bucket.Bucket) string {
	prefix := wire.Place{Account: b.Account(), Region: b.Region()}.ARN("kms", "")
	switch {
	case strings.HasPrefix(key, "arn:"):
		return key
	case key == "": // S3 tells the key's id, not its alias aws/s3
		id := sha256.Sum256([]byte(prefix))
		return fmt.Sprintf("%skey/%x-%x-%x-%x-%x", prefix, id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	case strings.HasPrefix(key, "alias/"):
		return prefix + key
	}
	return prefix + "key/" + key
}

// taggingHeader reads tags that are written like the parameters of a URL.
func taggingHeader(text string) ([]bucket.Tag, error) {
	if text == "" {
		return nil, nil
	}
	bad := rest.InvalidArgument("The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters "+
		"without tag name duplicates.", "x-amz-tagging", text)
	var tags []Tag
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, bad
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return nil, bad
		}
		twice := slices.ContainsFunc(tags, func(t Tag) bool { return t.Key == name })
		if twice || !tagForm.MatchString(name) || !tagForm.MatchString(value) {
			return nil, bad
		}
		tags = append(tags, Tag{name, value})
	}
	return checkTags(tags, objectTags)
}

// Shown are the headers of an answer that describe an object.
type Shown struct {
	AcceptRanges            string            `rest:"header,Accept-Ranges"`
	CacheControl            string            `rest:"header,Cache-Control"`
	ContentDisposition      string            `rest:"header,Content-Disposition"`
	ContentEncoding         string            `rest:"header,Content-Encoding"`
	ContentLanguage         string            `rest:"header,Content-Language"`
	ContentRange            string            `rest:"header,Content-Range"`
	ContentType             string            `rest:"header,Content-Type"`
	ETag                    string            `rest:"header,ETag"`
	Expiration              string            `rest:"header,x-amz-expiration"`
	Expires                 string            `rest:"header,Expires"`
	LastModified            time.Time         `rest:"header,Last-Modified"`
	Metadata                map[string]string `rest:"metadata"`
	PartsCount              *int              `rest:"header,x-amz-mp-parts-count"`
	Status                  int               `rest:"status"`
	StorageClass            string            `rest:"header,x-amz-storage-class"`
	TagCount                *int              `rest:"header,x-amz-tagging-count"`
	WebsiteRedirectLocation string            `rest:"header,x-amz-website-redirect-location"`
	ShownChecksum
	ShownEncryption
}

// ShownEncryption are the headers that say how an object is encrypted.
type ShownEncryption struct {
	ServerSideEncryption    string `rest:"header,x-amz-server-side-encryption"`
	SSEKMSKeyID             string `rest:"header,x-amz-server-side-encryption-aws-kms-key-id"`
	SSEKMSEncryptionContext string `rest:"header,x-amz-server-side-encryption-context"`
	BucketKeyEnabled        bool   `rest:"header,x-amz-server-side-encryption-bucket-key-enabled"`
	SSECustomerAlgorithm    string `rest:"header,x-amz-server-side-encryption-customer-algorithm"`
	SSECustomerKeyMD5       string `rest:"header,x-amz-server-side-encryption-customer-key-MD5"`
}

func shownEncryption(e bucket.Encryption) ShownEncryption {
	shown := ShownEncryption{
		ServerSideEncryption: e.Algorithm, SSEKMSKeyID: e.KMSKey, SSEKMSEncryptionContext: e.Context,
		BucketKeyEnabled: e.BucketKey, SSECustomerKeyMD5: e.CustomerMD5,
	}
	if e.CustomerMD5 != "" {
		shown.SSECustomerAlgorithm = aes256
	}
	return shown
}

// ShownChecksum are the headers with a checksum.
type ShownChecksum struct {
	ChecksumCRC32     string `rest:"header,x-amz-checksum-crc32"`
	ChecksumCRC32C    string `rest:"header,x-amz-checksum-crc32c"`
	ChecksumCRC64NVME string `rest:"header,x-amz-checksum-crc64nvme"`
	ChecksumSHA1      string `rest:"header,x-amz-checksum-sha1"`
	ChecksumSHA256    string `rest:"header,x-amz-checksum-sha256"`
	ChecksumType      string `rest:"header,x-amz-checksum-type"`
}

func shownChecksum(c bucket.Checksum) ShownChecksum {
	shown := ShownChecksum{ChecksumType: c.Type}
	switch c.Algorithm {
	case "CRC32":
		shown.ChecksumCRC32 = c.Value
	case "CRC32C":
		shown.ChecksumCRC32C = c.Value
	case "CRC64NVME":
		shown.ChecksumCRC64NVME = c.Value
	case "SHA1":
		shown.ChecksumSHA1 = c.Value
	case "SHA256":
		shown.ChecksumSHA256 = c.Value
	}
	return shown
}

// ChecksumElements are the elements of XML with a checksum, in requests and answers.
type ChecksumElements struct {
	ChecksumCRC32     *string
	ChecksumCRC32C    *string
	ChecksumCRC64NVME *string
	ChecksumSHA1      *string
	ChecksumSHA256    *string
}

func checksumElements(c bucket.Checksum) ChecksumElements {
	var e ChecksumElements
	if p := e.field(c.Algorithm); p != nil && c.Value != "" {
		*p = &c.Value
	}
	return e
}

// any returns the algorithm of a checksum that there is; "": there is none.
func (e *ChecksumElements) any() string {
	for _, algorithm := range []string{"CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"} {
		if *e.field(algorithm) != nil {
			return algorithm
		}
	}
	return ""
}

// field returns where the checksum of an algorithm is; nil: the algorithm is unknown.
func (e *ChecksumElements) field(algorithm string) **string {
	return map[string]**string{
		"CRC32": &e.ChecksumCRC32, "CRC32C": &e.ChecksumCRC32C, "CRC64NVME": &e.ChecksumCRC64NVME,
		"SHA1": &e.ChecksumSHA1, "SHA256": &e.ChecksumSHA256,
	}[algorithm]
}

// shown describes an object.
func shown(set *bucket.Settings, o *bucket.Object) Shown {
	h := o.Headers
	sh := Shown{
		AcceptRanges: "bytes", CacheControl: h.CacheControl, ContentDisposition: h.ContentDisposition,
		ContentEncoding: h.ContentEncoding, ContentLanguage: h.ContentLanguage, ContentType: h.ContentType,
		ETag: quote(o.ETag), Expiration: expiration(set, o), Expires: h.Expires, LastModified: o.Modified,
		Metadata: o.Metadata, WebsiteRedirectLocation: o.Redirect, ShownEncryption: shownEncryption(o.Encryption),
	}
	if o.StorageClass != standard {
		sh.StorageClass = o.StorageClass
	}
	if n := len(o.Tags); n > 0 {
		sh.TagCount = &n
	}
	return sh
}
