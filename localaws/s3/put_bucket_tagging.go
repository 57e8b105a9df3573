package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketTaggingInput is the input of PutBucketTagging.
type PutBucketTaggingInput struct {
	Bucket  string   `rest:"bucket"`
	Tagging *Tagging `rest:"payload,Tagging"`
}

// putBucketTagging replaces all tags; TagResource of S3 Control adds. The error of a tag that begins with aws: differs
// from that of an object (recorded on AWS, 2025-01-21: TestRecordedS3Tags).
func (s *Service) putBucketTagging(_ context.Context, c *rest.Call, in *PutBucketTaggingInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if in.Tagging == nil {
		return nil, rest.MalformedXML()
	}
	tags, err := checkTags(in.Tagging.TagSet, bucketTags)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Tags = tags })
}
