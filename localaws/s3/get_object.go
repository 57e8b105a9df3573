package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// GetObjectInput is the input of GetObject.
type GetObjectInput struct {
	ReadInput
}

// GetObjectOutput is the output of GetObject.
type GetObjectOutput struct {
	Shown
	Body *rest.Stream `rest:"body"`
}

// getObject answers 404 for a missing key; AWS answers 403 if the caller may not list the bucket. The classes GLACIER
// and DEEP_ARCHIVE are InvalidObjectState until they are restored (AWS's API reference, GetObject).
func (s *Service) getObject(_ context.Context, c *rest.Call, in *GetObjectInput) (*GetObjectOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	o := b.Open(in.Key)
	if o == nil {
		return nil, noSuchKey(in.Key)
	}
	defer o.Content.Release()
	v, err := s.look(c, b, o, &in.ReadInput)
	if err != nil {
		return nil, err
	}
	if o.StorageClass == "GLACIER" || o.StorageClass == "DEEP_ARCHIVE" {
		return nil, rest.Refuse(403, "InvalidObjectState", "The operation is not valid for the object's storage class",
			"StorageClass", o.StorageClass)
	}
	return &GetObjectOutput{
		Shown: v.shown, Body: &rest.Stream{Size: v.length, Body: o.Content.Range(v.offset, v.length).Reader()},
	}, nil
}
