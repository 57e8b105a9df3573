package s3

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// UploadPartInput is the input of UploadPart, without the body.
type UploadPartInput struct {
	Bucket               string `rest:"bucket"`
	Key                  string `rest:"key"`
	PartNumber           *int   `rest:"query,partNumber"`
	UploadID             string `rest:"query,uploadId"`
	SSECustomerAlgorithm string `rest:"header,x-amz-server-side-encryption-customer-algorithm"`
	SSECustomerKey       string `rest:"header,x-amz-server-side-encryption-customer-key"`
	SSECustomerKeyMD5    string `rest:"header,x-amz-server-side-encryption-customer-key-MD5"`
}

// UploadPartOutput is the output of UploadPart.
type UploadPartOutput struct {
	ETag string `rest:"header,ETag"`
	ShownChecksum
	ShownEncryption
}

const maxParts = 10_000 // S3: the parts of an upload

func badPartNumber(n int) error {
	return rest.InvalidArgument("Part number must be an integer between 1 and 10000, inclusive", "partNumber", itoa(n))
}

// uploadPart replaces a part of the same number. Whether a part is too small is decided only when the upload is
// completed, because the last one may be (AWS's API reference, UploadPart).
func (s *Service) uploadPart(_ context.Context, c *rest.Call, in *UploadPartInput) (*UploadPartOutput, error) {
	b, u, err := s.upload(c, in.Bucket, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := in.checkNumber(); err != nil {
		return nil, err
	}
	if err := checkPartSum(u, c.Body.Algorithm()); err != nil {
		return nil, err
	}
	key := CustomerKey{in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5}
	if err := key.fits(u); err != nil {
		return nil, err
	}
	otherwise := rest.Default
	if u.Checksum.Algorithm != "" {
		otherwise = u.Checksum.Algorithm
	}
	got, err := c.Body.Receive(maxUpload, otherwise, u.Checksum.Algorithm == "")
	if err != nil {
		return nil, err
	}
	p := &bucket.Part{
		Number: *in.PartNumber, ETag: hex.EncodeToString(got.MD5), Modified: s.now(),
		Content:  s.store.Whole(got.Blob, got.Size),
		Checksum: bucket.Checksum{Algorithm: got.Algorithm, Value: got.Checksum}, Second: got.Second,
	}
	if err := b.PutPart(u.ID, p); err != nil {
		return nil, modelError(err, b, in.Key, u.ID, bucket.Condition{})
	}
	out := &UploadPartOutput{ETag: quote(p.ETag), ShownEncryption: shownEncryption(u.Encryption)}
	if got.Claimed || u.Checksum.Algorithm != "" {
		out.ShownChecksum = shownChecksum(p.Checksum)
	}
	return out, nil
}

func (in *UploadPartInput) checkNumber() error {
	switch n := in.PartNumber; {
	case n == nil:
		return badPartNumber(0)
	case *n < 1 || *n > maxParts:
		return badPartNumber(*n)
	}
	return nil
}

// upload returns an upload of a key.
func (s *Service) upload(c *rest.Call, name, key, id string) (*bucket.Bucket, *bucket.Upload, error) {
	b, err := s.bucket(c, name)
	if err != nil {
		return nil, nil, err
	}
	u, _, ok := b.Parts(id)
	if !ok || u.Key != key {
		return nil, nil, noSuchUpload(id)
	}
	return b, u, nil
}

// checkPartSum compares the checksum of a part with what the upload was created with.
func checkPartSum(u *bucket.Upload, algorithm string) error {
	want := u.Checksum.Algorithm
	if want == "" || algorithm == want || algorithm == "" && u.Checksum.Type == fullObject {
		return nil
	}
	if algorithm == "" {
		algorithm = "null"
	}
	return invalidRequest("Checksum Type mismatch occurred, expected checksum Type: " + strings.ToLower(want) +
		", actual checksum Type: " + strings.ToLower(algorithm))
}
