package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// HeadObjectInput is the input of HeadObject.
type HeadObjectInput struct {
	ReadInput
}

// HeadObjectOutput is the output of HeadObject.
type HeadObjectOutput struct {
	Shown
	ContentLength int64 `rest:"header,Content-Length"`
}

// headObject has no body, so that an error is only a status, and a missing key is 404; on AWS 403 if the caller may not
// list the bucket (AWS's API reference, HeadObject).
func (s *Service) headObject(_ context.Context, c *rest.Call, in *HeadObjectInput) (*HeadObjectOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	o, err := object(b, in.Key, in.VersionID)
	if err != nil {
		return nil, err
	}
	v, err := s.look(c, b, o, &in.ReadInput)
	if err != nil {
		return nil, err
	}
	return &HeadObjectOutput{Shown: v.shown, ContentLength: v.length}, nil
}
