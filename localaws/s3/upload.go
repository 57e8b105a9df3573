package s3

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// CreateMultipartUploadInput is the input of CreateMultipartUpload.
type CreateMultipartUploadInput struct {
	Bucket            string `rest:"bucket"`
	Key               string `rest:"key"`
	ChecksumAlgorithm string `rest:"header,x-amz-checksum-algorithm"`
	ChecksumType      string `rest:"header,x-amz-checksum-type"`
	Given
}

// CreateMultipartUploadOutput is the output of CreateMultipartUpload.
type CreateMultipartUploadOutput struct {
	AbortDate         string `rest:"header,x-amz-abort-date"`
	AbortRuleID       string `rest:"header,x-amz-abort-rule-id"`
	ChecksumAlgorithm string `rest:"header,x-amz-checksum-algorithm"`
	ChecksumType      string `rest:"header,x-amz-checksum-type"`
	ShownEncryption
	Bucket   string
	Key      string
	UploadID string `xml:"UploadId"`
}

// createMultipartUpload decides about metadata, tags, encryption and checksum of the object. The checksum is of all
// parts' checksums by default, but CRC64NVME is always of the whole object (AWS's user guide, checking object
// integrity).
func createMultipartUpload(c call, b *bucket.Bucket, in *CreateMultipartUploadInput) (
	*CreateMultipartUploadOutput, error,
) {
	err := checkKey(in.Key)
	if err != nil {
		return nil, err
	}
	u := &bucket.Upload{Key: in.Key, Initiated: c.at.now(), ID: uploadID(c.at.opts.Random)}
	if u.Properties, err = in.properties(b); err != nil {
		return nil, err
	}
	if u.Checksum, err = in.checksum(); err != nil {
		return nil, err
	}
	if err := b.Start(u); err != nil {
		return nil, modelError(err, b, in.Key, "", bucket.Condition{})
	}
	out := &CreateMultipartUploadOutput{
		ChecksumAlgorithm: u.Checksum.Algorithm, ChecksumType: u.Checksum.Type,
		ShownEncryption: shownEncryption(u.Encryption), Bucket: in.Bucket, Key: in.Key, UploadID: u.ID,
	}
	out.AbortDate, out.AbortRuleID = abortion(b.Settings(), u)
	return out, nil
}

// checksum returns what the parts' checksums must be.
func (in *CreateMultipartUploadInput) checksum() (bucket.Checksum, error) {
	sum := bucket.Checksum{Algorithm: strings.ToUpper(in.ChecksumAlgorithm), Type: strings.ToUpper(in.ChecksumType)}
	if err := checkAlgorithm(sum.Algorithm); err != nil {
		return sum, err
	}
	wrong := func() error {
		return invalidRequest("The " + sum.Type + " checksum type cannot be used with the " +
			strings.ToLower(sum.Algorithm) + " checksum algorithm.")
	}
	switch {
	case sum.Type != "" && sum.Type != fullObject && sum.Type != composite:
		return sum, invalidRequest("Value for x-amz-checksum-type header is invalid.")
	case sum.Algorithm == "" && sum.Type != "":
		return sum, invalidRequest("The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm " +
			"header.")
	case sum.Algorithm == "":
		return sum, nil
	case sum.Algorithm == rest.Default && sum.Type == composite,
		sum.Type == fullObject && !rest.IsCyclic(sum.Algorithm):
		return sum, wrong()
	case sum.Type == "" && sum.Algorithm == rest.Default:
		sum.Type = fullObject
	case sum.Type == "":
		sum.Type = composite
	}
	return sum, nil
}

func uploadID(r *random.Source) string {
	var raw [48]byte
	for i := 0; i < len(raw); i += 8 {
		binary.BigEndian.PutUint64(raw[i:], r.Uint64())
	}
	return strings.NewReplacer("-", ".", "=", "").Replace(base64.URLEncoding.EncodeToString(raw[:]))
}

// AbortMultipartUploadInput is the input of AbortMultipartUpload.
type AbortMultipartUploadInput struct {
	Bucket   string `rest:"bucket"`
	Key      string `rest:"key"`
	UploadID string `rest:"query,uploadId"`
}

// abortMultipartUpload deletes the parts at once. On AWS a part that is being uploaded may still succeed, so that a
// client aborts until ListParts finds none (AWS's API reference, AbortMultipartUpload).
func abortMultipartUpload(_ call, b *bucket.Bucket, in *AbortMultipartUploadInput) (*Done, error) {
	u, err := upload(b, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := b.Abort(u.ID); err != nil {
		return nil, modelError(err, b, in.Key, u.ID, bucket.Condition{})
	}
	return noContent(), nil
}

// ListMultipartUploadsInput is the input of ListMultipartUploads.
type ListMultipartUploadsInput struct {
	Bucket         string  `rest:"bucket"`
	Delimiter      string  `rest:"query,delimiter"`
	EncodingType   *string `rest:"query,encoding-type"`
	KeyMarker      string  `rest:"query,key-marker"`
	MaxUploads     *int    `rest:"query,max-uploads"`
	Prefix         string  `rest:"query,prefix"`
	UploadIDMarker string  `rest:"query,upload-id-marker"`
}

// ListMultipartUploadsOutput is the output of ListMultipartUploads.
type ListMultipartUploadsOutput struct {
	Bucket             string
	KeyMarker          *string
	UploadIDMarker     *string `xml:"UploadIdMarker"`
	NextKeyMarker      string
	NextUploadIDMarker string `xml:"NextUploadIdMarker"`
	Prefix             *string
	Delimiter          *string
	EncodingType       *string
	MaxUploads         int
	IsTruncated        bool
	Upload             []ListedUpload
	CommonPrefixes     []CommonPrefix
}

// ListedUpload is an upload in a list.
type ListedUpload struct {
	Key               string
	UploadID          string `xml:"UploadId"`
	Initiated         time.Time
	StorageClass      string
	Owner             *Owner
	Initiator         *Initiator
	ChecksumAlgorithm *string
	ChecksumType      *string
}

// listMultipartUploads ignores an upload-id-marker without a key-marker (AWS's API reference), and has next markers
// also on the last page (recorded on AWS, 2025-01 to 2026-02: TestRecordedS3Lists).
func listMultipartUploads(_ call, b *bucket.Bucket, in *ListMultipartUploadsInput) (
	*ListMultipartUploadsOutput, error,
) {
	e, limit, err := listing(in.EncodingType, in.MaxUploads, "max-uploads")
	if err != nil {
		return nil, err
	}
	all, err := behindMarker(b.Uploads(), in)
	if err != nil {
		return nil, err
	}
	out := &ListMultipartUploadsOutput{
		Bucket: in.Bucket, KeyMarker: e.pointer(in.KeyMarker), UploadIDMarker: &in.UploadIDMarker,
		Prefix: e.optional(in.Prefix), Delimiter: e.optional(in.Delimiter), EncodingType: e.named(), MaxUploads: limit,
	}
	if in.KeyMarker == "" {
		out.UploadIDMarker = &in.KeyMarker // S3 ignores it without a key
	}
	fillUploads(out, in, b, all, e)
	return out, nil
}

// behindMarker returns the uploads that are behind the markers: the uploads of later keys, and the later ones of the
// key. Of a group that the key is in, there are none.
func behindMarker(all []*bucket.Upload, in *ListMultipartUploadsInput) ([]*bucket.Upload, error) {
	if in.KeyMarker == "" {
		return all, nil
	}
	at := slices.IndexFunc(all, func(u *bucket.Upload) bool { return u.ID == in.UploadIDMarker })
	if in.UploadIDMarker != "" && (at < 0 || all[at].Key != in.KeyMarker) {
		return nil, rest.InvalidArgument("Invalid uploadId marker", "upload-id-marker", in.UploadIDMarker)
	}
	if at >= 0 {
		all = all[at+1:]
	}
	group, grouped := in.group(in.KeyMarker)
	return slices.DeleteFunc(all, func(u *bucket.Upload) bool {
		return u.Key < in.KeyMarker || u.Key == in.KeyMarker && at < 0 || grouped && strings.HasPrefix(u.Key, group)
	}), nil
}

// group returns the common prefix of a key.
func (in *ListMultipartUploadsInput) group(key string) (group string, grouped bool) {
	q := bucket.Query{Prefix: in.Prefix, Delimiter: in.Delimiter}
	return q.Group(key)
}

// fillUploads adds a page of uploads and groups. The next markers name the last upload, also if a group is
// behind it, and also if the list ends here.
func fillUploads(
	out *ListMultipartUploadsOutput, in *ListMultipartUploadsInput, b *bucket.Bucket, all []*bucket.Upload, e encoder,
) {
	last := ""
	for _, u := range all {
		group, grouped := in.group(u.Key)
		if !strings.HasPrefix(u.Key, in.Prefix) || grouped && group == last {
			continue
		}
		if len(out.Upload)+len(out.CommonPrefixes) == out.MaxUploads {
			out.IsTruncated = out.MaxUploads > 0
			return
		}
		if grouped {
			last = group
			out.CommonPrefixes = append(out.CommonPrefixes, CommonPrefix{e.text(group)})
			continue
		}
		listed := ListedUpload{
			Key: e.text(u.Key), UploadID: u.ID, Initiated: u.Initiated, StorageClass: u.StorageClass,
			Owner: owner(b.Account()), Initiator: initiator(b),
		}
		if u.Checksum.Algorithm != "" {
			listed.ChecksumAlgorithm, listed.ChecksumType = &u.Checksum.Algorithm, &u.Checksum.Type
		}
		out.Upload = append(out.Upload, listed)
		out.NextKeyMarker, out.NextUploadIDMarker = listed.Key, u.ID
	}
}
