package s3

import (
	"context"
	"strings"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// DeleteObjectInput is the input of DeleteObject.
type DeleteObjectInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	IfMatch   string `rest:"header,If-Match"`
	VersionID string `rest:"query,versionId"`
}

// deleteObject succeeds also for a key without an object, with status 204 (AWS's API reference, DeleteObject); no
// notification is sent then.
func (s *Service) deleteObject(_ context.Context, c *rest.Call, in *DeleteObjectInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	if err := s.remove(c, b, in.Key, in.IfMatch); err != nil {
		return nil, err
	}
	return noContent(), nil
}

// remove deletes an object if its ETag is the given one; "": whatever it is. A key without an object is deleted, too.
func (s *Service) remove(c *rest.Call, b *bucket.Bucket, key, match string) error {
	gone, err := b.Delete(key, func(o *bucket.Object) error {
		switch {
		case match == "":
			return nil
		case o == nil:
			return noSuchKey(key)
		case match != "*" && strings.Trim(match, `"`) != o.ETag:
			return preconditionFailed("If-Match")
		}
		return nil
	})
	if err != nil {
		return modelError(err, b, key, "", bucket.Condition{})
	}
	if gone.Object != nil {
		s.notifyRemoved(c, b, "ObjectRemoved:Delete", gone)
	}
	return nil
}
