package s3

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // S3's ETag
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CompleteMultipartUploadInput is the input of CompleteMultipartUpload.
type CompleteMultipartUploadInput struct {
	Bucket               string           `rest:"bucket"`
	Key                  string           `rest:"key"`
	ChecksumCRC32        string           `rest:"header,x-amz-checksum-crc32"`
	ChecksumCRC32C       string           `rest:"header,x-amz-checksum-crc32c"`
	ChecksumCRC64NVME    string           `rest:"header,x-amz-checksum-crc64nvme"`
	ChecksumSHA1         string           `rest:"header,x-amz-checksum-sha1"`
	ChecksumSHA256       string           `rest:"header,x-amz-checksum-sha256"`
	ChecksumType         string           `rest:"header,x-amz-checksum-type"`
	IfMatch              string           `rest:"header,If-Match"`
	IfNoneMatch          string           `rest:"header,If-None-Match"`
	MpuObjectSize        *int64           `rest:"header,x-amz-mp-object-size"`
	MultipartUpload      *CompletedUpload `rest:"payload,CompleteMultipartUpload"`
	UploadID             string           `rest:"query,uploadId"`
	SSECustomerAlgorithm string           `rest:"header,x-amz-server-side-encryption-customer-algorithm"`
	SSECustomerKey       string           `rest:"header,x-amz-server-side-encryption-customer-key"`
	SSECustomerKeyMD5    string           `rest:"header,x-amz-server-side-encryption-customer-key-MD5"`
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

func (s *Service) completeMultipartUpload(
	_ context.Context, c *rest.Call, in *CompleteMultipartUploadInput,
) (*CompleteMultipartUploadOutput, error) {
	b, u, err := s.upload(c, in.Bucket, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if in.MultipartUpload == nil || len(in.MultipartUpload.Part) == 0 || len(in.MultipartUpload.Part) > maxParts {
		return nil, rest.MalformedXML()
	}
	condition, err := writeCondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	join := func(u *bucket.Upload, parts map[int]*bucket.Part) (*bucket.Object, error) {
		return in.join(s, u, parts)
	}
	o, err := b.Complete(u.ID, condition, join)
	if err != nil {
		return nil, modelError(err, b, in.Key, u.ID, condition)
	}
	s.notify(c, b, "ObjectCreated:CompleteMultipartUpload", o)
	return &CompleteMultipartUploadOutput{
		Expiration: expiration(b.Settings(), o), ShownEncryption: shownEncryption(o.Encryption),
		Location: c.BaseURL + "/" + in.Bucket + "/" + encoder(true).text(in.Key), Bucket: in.Bucket, Key: in.Key,
		ETag: quote(o.ETag), ChecksumType: &o.Checksum.Type, ChecksumElements: checksumElements(o.Checksum),
	}, nil
}

// join makes the object of the listed parts.
func (in *CompleteMultipartUploadInput) join(
	s *Service, u *bucket.Upload, parts map[int]*bucket.Part,
) (*bucket.Object, error) {
	o := &bucket.Object{Key: u.Key, Modified: s.now(), Properties: u.Properties}
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

// checkSum compares the listed checksum of a part with that of the part.
func (listed *CompletedPart) checkSum(u *bucket.Upload, p *bucket.Part) error {
	want := *listed.field(p.Checksum.Algorithm)
	switch {
	case want != nil && *want != p.Checksum.Value:
		return invalidPart(u, *listed)
	case want == nil && u.Checksum.Type == composite:
		name := strings.ToLower(u.Checksum.Algorithm)
		return invalidRequest("The upload was created using a " + name + " checksum. The complete request must " +
			"include the checksum for each part. It was missing for part " + itoa(listed.PartNumber) + " in the request.")
	}
	return nil
}

// sum sets the checksum of the object, and compares it with that of the request.
func (in *CompleteMultipartUploadInput) sum(o *bucket.Object, u *bucket.Upload, parts []*bucket.Part) error {
	o.Checksum = u.Checksum
	if o.Checksum.Algorithm == "" {
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
	if o.Checksum.Type == composite {
		value, _ := rest.Composite(o.Checksum.Algorithm, values) // the parts' checksums were computed here
		o.Checksum.Value = value + "-" + itoa(len(parts))
	} else {
		o.Checksum.Value, _ = rest.Combine(o.Checksum.Algorithm, sums)
	}
	return in.verify(o)
}

// verify compares the checksum of the request, which is in a header, with that of the object.
func (in *CompleteMultipartUploadInput) verify(o *bucket.Object) error {
	claims := map[string]string{
		"CRC32": in.ChecksumCRC32, "CRC32C": in.ChecksumCRC32C, "CRC64NVME": in.ChecksumCRC64NVME,
		"SHA1": in.ChecksumSHA1, "SHA256": in.ChecksumSHA256,
	}
	if in.ChecksumType != "" && !strings.EqualFold(in.ChecksumType, o.Checksum.Type) {
		return invalidRequest("The upload was created using the " + o.Checksum.Type + " checksum mode. The complete " +
			"request must use the same checksum mode.")
	}
	claim := claims[o.Checksum.Algorithm]
	if have, _, _ := strings.Cut(o.Checksum.Value, "-"); claim != "" && claim != o.Checksum.Value && claim != have {
		return rest.Refuse(400, "BadDigest", "The "+strings.ToLower(o.Checksum.Algorithm)+
			" you specified did not match the calculated checksum.")
	}
	return nil
}
