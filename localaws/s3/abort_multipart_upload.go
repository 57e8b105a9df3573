package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// AbortMultipartUploadInput is the input of AbortMultipartUpload.
type AbortMultipartUploadInput struct {
	Bucket   string `rest:"bucket"`
	Key      string `rest:"key"`
	UploadID string `rest:"query,uploadId"`
}

// abortMultipartUpload deletes the parts at once. On AWS a part that is being uploaded may still succeed, so that a
// client aborts until ListParts finds none (AWS's API reference, AbortMultipartUpload).
func (s *Service) abortMultipartUpload(_ context.Context, c *rest.Call, in *AbortMultipartUploadInput) (*Done, error) {
	b, u, err := s.upload(c, in.Bucket, in.Key, in.UploadID)
	if err != nil {
		return nil, err
	}
	if err := b.Abort(u.ID); err != nil {
		return nil, modelError(err, b, in.Key, u.ID, bucket.Condition{})
	}
	return noContent(), nil
}
