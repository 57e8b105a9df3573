package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketLoggingInput is the input of PutBucketLogging.
type PutBucketLoggingInput struct {
	Bucket              string         `rest:"bucket"`
	BucketLoggingStatus *LoggingStatus `rest:"payload,BucketLoggingStatus"`
}

// LoggingStatus is a bucket's logging; nil: it has none.
type LoggingStatus struct {
	LoggingEnabled *bucket.Logging
}

// putBucketLogging keeps the target, which must be a bucket of the same account and region. An empty status removes it.
func (s *Service) putBucketLogging(_ context.Context, c *rest.Call, in *PutBucketLoggingInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if in.BucketLoggingStatus == nil {
		return nil, rest.MalformedXML()
	}
	set := in.BucketLoggingStatus.LoggingEnabled
	if set == nil {
		return done(), s.configure(b, func(to *bucket.Settings) { to.Logging = nil })
	}
	target := s.store.Bucket(set.TargetBucket)
	switch {
	case target == nil:
		return nil, rest.Refuse(400, "InvalidTargetBucketForLogging", "The target bucket for logging does not exist",
			"TargetBucket", set.TargetBucket)
	case target.Account() != b.Account():
		return nil, rest.Refuse(400, "InvalidTargetBucketForLogging", "The owner for the bucket to be logged and the "+
			"target bucket must be the same.", "TargetBucket", set.TargetBucket)
	case target.Region() != b.Region():
		return nil, rest.Refuse(403, "CrossLocationLoggingProhibitted", "Cross S3 location logging not allowed.",
			"TargetBucketLocation", target.Region())
	}
	return done(), s.keep(b, keptLogging, func(to *bucket.Settings) { to.Logging = set })
}
