package s3

import (
	"encoding/hex"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutObjectInput is the input of PutObject, without the body.
type PutObjectInput struct {
	Bucket      string `rest:"bucket"`
	Key         string `rest:"key"`
	IfMatch     string `rest:"header,If-Match"`
	IfNoneMatch string `rest:"header,If-None-Match"`
	Given
}

// PutObjectOutput is the output of PutObject.
type PutObjectOutput struct {
	ETag       string `rest:"header,ETag"`
	Expiration string `rest:"header,x-amz-expiration"`
	ShownChecksum
	ShownEncryption
}

// maxUpload is the largest object of one request, and the largest part.
const maxUpload = 5 << 30

const (
	fullObject = "FULL_OBJECT"
	composite  = "COMPOSITE"
)

// putObject compares its conditions before it reads the body. If they hold and the key is changed meanwhile, the answer
// is 409 (recorded on AWS for uploads, 2025-03-17: TestRecordedS3Conditions). Without a checksum it computes CRC64NVME.
func putObject(c call, b *bucket.Bucket, in *PutObjectInput) (*PutObjectOutput, error) {
	err := checkKey(in.Key)
	if err != nil {
		return nil, err
	}
	o := &bucket.Object{Key: in.Key}
	if o.Properties, err = in.properties(b); err != nil {
		return nil, err
	}
	condition, err := writeCondition(in.IfMatch, in.IfNoneMatch)
	if err != nil {
		return nil, err
	}
	refused := func(err error) error { return modelError(err, b, in.Key, "", condition) }
	watch := b.Watch(in.Key)
	defer watch.End()
	if err := b.Check(in.Key, condition); err != nil {
		return nil, refused(err)
	}
	got, err := c.Body.Receive(maxUpload, rest.Default, false)
	if err != nil {
		return nil, err
	}
	o.Content, o.ETag, o.Modified = c.at.store.Whole(got.Blob, got.Size), hex.EncodeToString(got.MD5), c.at.now()
	o.Checksum = bucket.Checksum{Algorithm: got.Algorithm, Type: fullObject, Value: got.Checksum}
	if err := b.Put(o, condition, watch); err != nil {
		return nil, refused(err)
	}
	c.at.notify(c.Call, b, "ObjectCreated:Put", o)
	return &PutObjectOutput{
		ETag: quote(o.ETag), Expiration: expiration(b.Settings(), o), ShownChecksum: shownChecksum(o.Checksum),
		ShownEncryption: shownEncryption(o.Encryption),
	}, nil
}
