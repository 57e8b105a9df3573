package bucket

import (
	"time"
)

// Object is one object. It is not modified after it was put, and may be shared.
type Object struct {
	Key      string
	ETag     string // without quotes
	Modified time.Time
	Content  Content
	Checksum Checksum
	Parts    []PartInfo // of a multipart upload, in order; nil: it was put as a whole
	Properties

	// Sequence grows with every change of the bucket, which sets it.
	Sequence uint64
}

// Properties are what a client says about an object.
type Properties struct {
	Headers      Headers
	Metadata     map[string]string // x-amz-meta-…, by lower-case name
	Tags         []Tag
	StorageClass string // "STANDARD"
	Encryption   Encryption
	Redirect     string  // x-amz-website-redirect-location
	ACL          string  // a canned list, which is shown
	Grants       []Grant // nil: those of ACL
}

// Headers are the HTTP headers that are stored with an object and returned with it. "" means that there is none.
type Headers struct {
	CacheControl       string
	ContentDisposition string
	ContentEncoding    string
	ContentLanguage    string
	ContentType        string
	Expires            string
}

// Tag is one tag of an object or a bucket.
type Tag struct{ Key, Value string }

// Encryption is how an object is said to be encrypted. Nothing is encrypted.
type Encryption struct {
	Algorithm   string // "AES256", "aws:kms", "aws:kms:dsse"; "": a key of the customer
	KMSKey      string
	Context     string
	BucketKey   bool
	CustomerMD5 string // digest of the customer's key; "": none
}

// Checksum is an object's or a part's checksum. The zero Checksum means that there is none.
type Checksum struct {
	Algorithm string // "CRC32"
	Type      string // "FULL_OBJECT" or "COMPOSITE"
	Value     string // base64, with -N if composite
}

// PartInfo is a part of a finished multipart upload.
type PartInfo struct {
	Number   int
	Size     int64
	Checksum Checksum
}

// Size returns the object's length.
func (o *Object) Size() int64 { return o.Content.Size() }
