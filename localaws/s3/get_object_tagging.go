package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// ObjectTaggingInput is the input of GetObjectTagging and DeleteObjectTagging.
type ObjectTaggingInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	VersionID string `rest:"query,versionId"`
}

// getObjectTagging answers an empty set for an object without tags, where a bucket without tags is NoSuchTagSet (AWS's
// API reference).
func (s *Service) getObjectTagging(_ context.Context, c *rest.Call, in *ObjectTaggingInput) (*TaggingOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	o := b.Object(in.Key)
	if o == nil {
		return nil, noSuchKey(in.Bucket + "/" + in.Key) // the only action that names both
	}
	return shownTags(o.Tags), nil
}
