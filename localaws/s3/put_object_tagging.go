package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutObjectTaggingInput is the input of PutObjectTagging.
type PutObjectTaggingInput struct {
	Bucket    string   `rest:"bucket"`
	Key       string   `rest:"key"`
	Tagging   *Tagging `rest:"payload,Tagging"`
	VersionID string   `rest:"query,versionId"`
}

// putObjectTagging replaces all tags, and takes ten (AWS's user guide, object tagging).
func (s *Service) putObjectTagging(_ context.Context, c *rest.Call, in *PutObjectTaggingInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if in.Tagging == nil {
		return nil, rest.MalformedXML()
	}
	tags, err := checkTags(in.Tagging.TagSet, objectTags)
	if err != nil {
		return nil, err
	}
	return done(), s.tagObject(c, b, in.Key, in.VersionID, "ObjectTagging:Put", tags)
}

// tagObject replaces the tags of an object.
func (s *Service) tagObject(c *rest.Call, b *bucket.Bucket, key, version, event string, tags []bucket.Tag) error {
	if _, err := object(b, key, version); err != nil {
		return err
	}
	if err := b.Tag(key, tags); err != nil {
		return modelError(err, b, key, "", bucket.Condition{})
	}
	if o := b.Object(key); o != nil {
		s.notify(c, b, event, o)
	}
	return nil
}
