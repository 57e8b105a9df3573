package s3

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strings"

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
func (s *Service) createMultipartUpload(
	_ context.Context, c *rest.Call, in *CreateMultipartUploadInput,
) (*CreateMultipartUploadOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := checkKey(in.Key); err != nil {
		return nil, err
	}
	u := &bucket.Upload{Key: in.Key, Initiated: s.now(), ID: s.uploadID()}
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

func (s *Service) uploadID() string {
	var raw [48]byte
	for i := 0; i < len(raw); i += 8 {
		binary.BigEndian.PutUint64(raw[i:], s.opts.Random.Uint64())
	}
	return strings.NewReplacer("-", ".", "=", "").Replace(base64.URLEncoding.EncodeToString(raw[:]))
}
