package claim

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/godwitmq/godwit/driver"
)

const (
	// SizeAttribute and OldSizeAttribute are the attributes that announce a pointer, in the current spelling and in the
	// one of the first extended clients. Clients for Java write the old one until today, unless they are told
	// otherwise.
	SizeAttribute    = "ExtendedPayloadSize"
	OldSizeAttribute = "SQSLargePayloadSize"

	// currentClass and oldClass are the Java classes whose names begin a pointer.
	currentClass = "software.amazon.payloadoffloading.PayloadS3Pointer"
	oldClass     = "com.amazon.sqs.javamessaging.MessageS3Pointer"
)

// Format is how a pointer is written. All formats are read.
type Format uint8

const (
	Current Format = iota // the current class, and the current attribute
	Mixed                 // the current class, and the old attribute
	Legacy                // the old class, and the old attribute
)

// Attribute is the attribute beside a pointer of the format.
func (f Format) Attribute() string {
	if f == Current {
		return SizeAttribute
	}
	return OldSizeAttribute
}

func (f Format) class() string {
	if f == Legacy {
		return oldClass
	}
	return currentClass
}

// Pointer says where a body is.
type Pointer struct {
	At     driver.Location
	Size   int64  // bytes of the body
	SHA256 string // of the body, in hexadecimal digits; "": its sender did not say
	Zstd   bool   // the object is compressed
	Stored int64  // bytes of the object, if that is compressed
}

// place is the second element of a pointer. Readers of other programs ignore the field that they do not know.
type place struct {
	Bucket string  `json:"s3BucketName"`
	Key    string  `json:"s3Key"`
	Godwit *detail `json:"godwit,omitempty"`
}

// detail is what Godwit adds. A field may be added; a reader that must understand a new one is told by Version.
type detail struct {
	Version  int    `json:"v"`
	Size     int64  `json:"size"`
	SHA256   string `json:"sha256,omitempty"`
	Encoding string `json:"encoding,omitempty"` // of the object; "": it is the body
	Stored   int64  `json:"stored,omitempty"`   // bytes of an object with an encoding
}

const (
	// version is the version of the detail of an object that is the body as it is.
	version = 1
	// encodedVersion is the version with an encoding. A reader that only knows version 1 would take the object for the
	// body.
	encodedVersion = 2
)

// Text is the pointer as the body of a message.
func (p Pointer) Text(f Format) string {
	d := &detail{Version: version, Size: p.Size, SHA256: p.SHA256}
	if p.Zstd {
		d.Version, d.Encoding, d.Stored = encodedVersion, zstdEncoding, p.Stored
	}
	text, err := json.Marshal([]any{f.class(), place{Bucket: p.At.Bucket, Key: p.At.Key, Godwit: d}})
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return string(text)
}

// Announced reports whether the attributes of a message say that its body is a pointer.
func Announced(attributes map[string]string) bool {
	_, current := attributes[SizeAttribute]
	_, old := attributes[OldSizeAttribute]
	return current || old
}

// Announces reports whether an attribute of this name says that the body is a pointer.
func Announces(name string) bool { return name == SizeAttribute || name == OldSizeAttribute }

// Parse reads the pointer that the attributes of a message announce. The error is a *driver.PayloadError.
func Parse(text string, attributes map[string]string) (Pointer, error) {
	size, err := announcedSize(attributes)
	if err != nil {
		return Pointer{}, err
	}
	var parts []json.RawMessage
	var class string
	var at place
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &class) != nil {
		return Pointer{}, noPointer("the body is not a list of a class and an object")
	}
	if class != currentClass && class != oldClass {
		return Pointer{}, noPointer("its class is neither %s nor %s", currentClass, oldClass)
	}
	if json.Unmarshal(parts[1], &at) != nil {
		return Pointer{}, noPointer("its second element is not an object with s3BucketName and s3Key")
	}
	if at.Bucket == "" || at.Key == "" {
		return Pointer{}, noPointer("it has no s3BucketName or no s3Key")
	}
	p := Pointer{At: driver.Location{Bucket: at.Bucket, Key: at.Key}, Size: size}
	if d := at.Godwit; d != nil {
		if d.Version != version && d.Version != encodedVersion {
			return Pointer{}, noPointer("it has version %d, and this reader knows versions up to %d: update the consumer",
				d.Version, encodedVersion)
		}
		if d.Size != size {
			return Pointer{}, noPointer("the message attribute announces %d bytes, and the pointer %d", size, d.Size)
		}
		p.SHA256 = d.SHA256
		if d.Version == encodedVersion {
			if d.Encoding != zstdEncoding || d.Stored < 0 {
				return Pointer{}, noPointer("its object has an unknown encoding or no size: update the consumer")
			}
			p.Zstd, p.Stored = true, d.Stored
		}
	}
	return p, nil
}

// Locate returns the place to which a body points if it may be a pointer, also one that Parse refuses: of a later
// version, of another class, or without an attribute.
func Locate(text []byte) (driver.Location, bool) {
	var parts []json.RawMessage
	if json.Unmarshal(text, &parts) != nil || len(parts) < 2 {
		return driver.Location{}, false
	}
	var at struct {
		Bucket string `json:"s3BucketName"`
		Key    string `json:"s3Key"`
	}
	if json.Unmarshal(parts[1], &at) != nil || at.Bucket == "" || at.Key == "" {
		return driver.Location{}, false
	}
	return driver.Location{Bucket: at.Bucket, Key: at.Key}, true
}

// announcedSize is the number in the attributes.
func announcedSize(attributes map[string]string) (int64, error) {
	size, found := int64(-1), ""
	for _, name := range []string{SizeAttribute, OldSizeAttribute} {
		text, there := attributes[name]
		if !there {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || n < 0:
			return 0, noPointer("attribute %s is not a number of bytes", name)
		case found != "" && n != size:
			return 0, noPointer("attribute %s announces %d bytes, and %s %d", found, size, name, n)
		}
		size, found = n, name
	}
	if found == "" {
		return 0, noPointer("no attribute announces one")
	}
	return size, nil
}

func noPointer(format string, args ...any) error {
	return fault(driver.PayloadPointer, "the message announces a pointer to a body in S3, which cannot be read: "+
		format, args...)
}

// fault is an error that no repetition can help.
func fault(f driver.PayloadFault, format string, args ...any) error {
	return &driver.Error{
		Class: driver.Permanent, Err: &driver.PayloadError{Fault: f, Err: fmt.Errorf(format, args...)},
	}
}
