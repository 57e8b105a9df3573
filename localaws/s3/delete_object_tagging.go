package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
)

// deleteObjectTagging removes all tags; an object without tags is no error.
func (s *Service) deleteObjectTagging(_ context.Context, c *rest.Call, in *ObjectTaggingInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.tagObject(c, b, in.Key, in.VersionID, "ObjectTagging:Delete", nil)
}
