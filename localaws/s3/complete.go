package s3

import (
	"cmp"
	"crypto/md5" //nolint:gosec // S3's ETag
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CompleteMultipartUploadInput is the input of CompleteMultipartUpload.
type CompleteMultipartUploadInput struct {
	Bucket            string           `rest:"bucket"`
	Key               string           `rest:"key"`
	ChecksumCRC32     string           `rest:"header,x-amz-checksum-crc32"`
	ChecksumCRC32C    string           `rest:"header,x-amz-checksum-crc32c"`
	ChecksumCRC64NVME string           `rest:"header,x-amz-checksum-crc64nvme"`
	ChecksumSHA1      string           `rest:"header,x-amz-checksum-sha1"`
	ChecksumSHA256    string           `rest:"header,x-amz-checksum-sha256"`
	ChecksumType      string           `rest:"header,x-amz-checksum-type"`
	IfMatch           string           `rest:"header,If-Match"`
	IfNoneMatch       string           `rest:"header,If-None-Match"`
	MpuObjectSize     *int64           `rest:"header,x-amz-mp-object-size"`
	MultipartUpload   *CompletedUpload `rest:"payload,CompleteMultipartUpload"`
	UploadID          string           `rest:"query,uploadId"`
	CustomerKey
}

// CompletedUpload lists the parts of the object.
type CompletedUpload struct {
	Part []CompletedPart
}

// CompletedPart is one part of the object.
type CompletedPart struct {
	PartNumber int
	ETag       string
	ChecksumElements
}

// CompleteMultipartUploadOutput is the output of CompleteMultipartUpload.
type CompleteMultipartUploadOutput struct {
	Expiration string `rest:"header,x-amz-expiration"`
	ShownEncryption
	Location     string
	Bucket       string
	Key          string
	ETag         string
	ChecksumType *string
	ChecksumElements
}

const (
	leastPart = 5 << 20  // S3: every part but the last
	maxObject = 50 << 40 // S3: an object
)

// completeMultipartUpload answers again when it is sent again with the same parts (AWS's API reference). A part that is
// listed with a checksum is an InvalidPart if the upload was created without an algorithm (recorded on AWS, 2026-02:
// TestRecordedS3Completion).
func completeMultipartUpload(c call, b *bucket.Bucket, in *CompleteMultipartUploadInput) (
	*CompleteMultipartUploadOutput, error,
) {
	o, err := in.complete(c, b)
	if errors.Is(err, bucket.ErrNoUpload) {
		if o = b.Completed(in.UploadID, in.Key, in.digest()); o == nil {
			return nil, noSuchUpload(in.UploadID)
		}
	} else if err != nil {
		return nil, err
	}
	out := &CompleteMultipartUploadOutput{
		Expiration: expiration(b.Settings(), o), ShownEncryption: shownEncryption(o.Encryption),
		Location: c.BaseURL + "/" + in.Bucket + "/" + encoder(true).text(in.Key), Bucket: in.Bucket, Key: in.Key,
		ETag: quote(o.ETag),
	}
	// Of an object with a key of KMS, S3 does not tell the checksum here.
	if o.Encryption.KMSKey == "" && o.Checksum.Value != "" {
		out.ChecksumType, out.ChecksumElements = &o.Checksum.Type, checksumElements(o.Checksum)
	}
	return out, nil
}

// complete ends the upload. bucket.ErrNoUpload says that there is none.
func (in *CompleteMultipartUploadInput) complete(c call, b *bucket.Bucket) (*bucket.Object, error) {
	u, _, ok := b.Parts(in.UploadID)
	if !ok || u.Key != in.Key {
		return nil, bucket.ErrNoUpload
	}
	if in.MultipartUpload == nil || len(in.MultipartUpload.Part) == 0 {
		return nil, invalidRequest("You must specify at least one part")
	}
	if len(in.MultipartUpload.Part) > maxParts {
		return nil, rest.MalformedXML()
	}
	condition, err := writeCondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	join := func(u *bucket.Upload, parts map[int]*bucket.Part) (*bucket.Object, error) {
		return in.join(c.at.now(), u, parts)
	}
	o, err := b.Complete(u.ID, condition, in.digest(), join)
	switch {
	case errors.Is(err, bucket.ErrNoUpload): // another request has completed it meanwhile
		return nil, err
	case err != nil:
		return nil, modelError(err, b, in.Key, u.ID, condition)
	}
	c.at.notify(c.Call, b, "ObjectCreated:CompleteMultipartUpload", o)
	return o, nil
}

// digest returns what a request that is sent again has in common with the first: the listed parts.
func (in *CompleteMultipartUploadInput) digest() bucket.Digest {
	all := sha256.New()
	if in.MultipartUpload != nil {
		for _, p := range in.MultipartUpload.Part {
			fmt.Fprintln(all, p.PartNumber, strings.Trim(p.ETag, `"`))
		}
	}
	return bucket.Digest(all.Sum(nil))
}

// join makes the object of the listed parts.
func (in *CompleteMultipartUploadInput) join(
	now time.Time, u *bucket.Upload, parts map[int]*bucket.Part,
) (*bucket.Object, error) {
	o := &bucket.Object{Key: u.Key, Modified: now, Properties: u.Properties}
	whole := md5.New() //nolint:gosec // see the import
	var used []*bucket.Part
	var contents []bucket.Content
	if !slices.IsSortedFunc(in.MultipartUpload.Part, func(a, b CompletedPart) int {
		return cmp.Or(cmp.Compare(a.PartNumber, b.PartNumber), -1) // a number twice is no order
	}) {
		return nil, rest.Refuse(400, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be "+
			"ordered by part number.", "UploadId", u.ID)
	}
	for _, listed := range in.MultipartUpload.Part {
		if p := parts[listed.PartNumber]; p == nil || strings.Trim(listed.ETag, `"`) != p.ETag {
			return nil, invalidPart(u, listed)
		}
	}
	for i, listed := range in.MultipartUpload.Part {
		p := parts[listed.PartNumber]
		if p.Content.Size() < leastPart && i < len(in.MultipartUpload.Part)-1 {
			return nil, rest.Refuse(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size",
				"ProposedSize", strconv.FormatInt(p.Content.Size(), 10), "MinSizeAllowed", strconv.Itoa(leastPart),
				"PartNumber", itoa(listed.PartNumber), "ETag", p.ETag)
		}
		if err := listed.checkSum(u, p); err != nil {
			return nil, err
		}
		digest, err := hex.DecodeString(p.ETag)
		if err != nil {
			return nil, err
		}
		whole.Write(digest)
		used, contents = append(used, p), append(contents, p.Content)
	}
	o.ETag = hex.EncodeToString(whole.Sum(nil)) + "-" + itoa(len(used))
	o.Content = bucket.Join(contents)
	if in.MpuObjectSize != nil && *in.MpuObjectSize != o.Size() {
		return nil, invalidRequest("The provided 'x-amz-mp-object-size' header value " +
			strconv.FormatInt(*in.MpuObjectSize, 10) + " does not match what was computed: " +
			strconv.FormatInt(o.Size(), 10))
	}
	if o.Size() > maxObject {
		return nil, rest.Refuse(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	}
	return o, in.sum(o, u, used)
}

func invalidPart(u *bucket.Upload, p CompletedPart) error {
	return rest.Refuse(400, "InvalidPart", "One or more of the specified parts could not be found.  The part may not have "+
		"been uploaded, or the specified entity tag may not match the part's entity tag.",
		"UploadId", u.ID, "PartNumber", itoa(p.PartNumber), "ETag", strings.Trim(p.ETag, `"`))
}

// checkSum compares the listed checksum of a part with that of the part. Parts of an upload without an algorithm are
// listed without checksums.
func (listed *CompletedPart) checkSum(u *bucket.Upload, p *bucket.Part) error {
	other := listed.any()
	if u.Checksum.Algorithm == "" {
		if other != "" {
			return invalidPart(u, *listed)
		}
		return nil
	}
	want := *listed.field(u.Checksum.Algorithm)
	switch {
	case want != nil && *want != p.Checksum.Value:
		return invalidPart(u, *listed)
	case want != nil || u.Checksum.Type != composite:
		return nil
	case other != "":
		return rest.Refuse(400, "BadDigest", "The "+strings.ToLower(other)+" you specified for part "+
			itoa(listed.PartNumber)+" did not match what we received.")
	}
	return invalidRequest("The upload was created using a " + strings.ToLower(u.Checksum.Algorithm) +
		" checksum. The complete request must include the checksum for each part. It was missing for part " +
		itoa(listed.PartNumber) + " in the request.")
}

// sum sets the checksum of the object, and compares it with that of the request.
func (in *CompleteMultipartUploadInput) sum(o *bucket.Object, u *bucket.Upload, parts []*bucket.Part) error {
	o.Checksum = u.Checksum
	keyless := u.Encryption.CustomerMD5 == "" // otherwise S3 has no checksum of its own
	if o.Checksum.Algorithm == "" && keyless {
		o.Checksum = bucket.Checksum{Algorithm: rest.Default, Type: fullObject}
	}
	var values []string
	var sums []rest.Sum
	for _, p := range parts {
		value := p.Checksum.Value
		if p.Checksum.Algorithm != o.Checksum.Algorithm { // the client chose another one for the part
			value = p.Second
		}
		values, sums = append(values, value), append(sums, rest.Sum{Value: value, Size: p.Content.Size()})
		info := bucket.PartInfo{Number: p.Number, Size: p.Content.Size()}
		if u.Checksum.Algorithm != "" {
			info.Checksum = p.Checksum
		}
		o.Parts = append(o.Parts, info)
	}
	switch o.Checksum.Type {
	case composite:
		value, _ := rest.Composite(o.Checksum.Algorithm, values) // the parts' checksums were computed here
		o.Checksum.Value = value + "-" + itoa(len(parts))
	case fullObject:
		o.Checksum.Value, _ = rest.Combine(o.Checksum.Algorithm, sums)
	}
	return in.verify(u, o)
}

// verify compares the checksum of the request, which is in a header, with that of the object. S3 does not look at the
// header if the upload has no algorithm, and takes a checksum of the full object only with its type.
func (in *CompleteMultipartUploadInput) verify(u *bucket.Upload, o *bucket.Object) error {
	if in.ChecksumType != "" && !strings.EqualFold(in.ChecksumType, u.Checksum.Type) {
		return invalidRequest("The upload was created using the " + cmp.Or(u.Checksum.Type, "null") + " checksum " +
			"mode. The complete request must use the same checksum mode.")
	}
	if u.Checksum.Algorithm == "" {
		return nil
	}
	for algorithm, claim := range map[string]string{
		"CRC32": in.ChecksumCRC32, "CRC32C": in.ChecksumCRC32C, "CRC64NVME": in.ChecksumCRC64NVME,
		"SHA1": in.ChecksumSHA1, "SHA256": in.ChecksumSHA256,
	} {
		have, _, _ := strings.Cut(o.Checksum.Value, "-")
		good := algorithm == u.Checksum.Algorithm && (claim == o.Checksum.Value || claim == have) &&
			(in.ChecksumType != "" || u.Checksum.Type == composite)
		if claim != "" && !good {
			return rest.Refuse(400, "BadDigest", "The "+strings.ToLower(u.Checksum.Algorithm)+
				" you specified did not match the calculated checksum.")
		}
	}
	return nil
}
