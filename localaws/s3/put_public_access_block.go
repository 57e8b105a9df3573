package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutPublicAccessBlockInput is the input of PutPublicAccessBlock.
type PutPublicAccessBlockInput struct {
	Bucket                         string        `rest:"bucket"`
	PublicAccessBlockConfiguration *PublicAccess `rest:"payload,PublicAccessBlockConfiguration"`
}

// PublicAccess says which public access is blocked.
type PublicAccess struct {
	BlockPublicAcls       bool
	IgnorePublicAcls      bool
	BlockPublicPolicy     bool
	RestrictPublicBuckets bool
}

// putPublicAccessBlock replaces all four settings: one that is not named is off.
func (s *Service) putPublicAccessBlock(_ context.Context, c *rest.Call, in *PutPublicAccessBlockInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if in.PublicAccessBlockConfiguration == nil {
		return nil, rest.MalformedXML()
	}
	block := bucket.PublicAccess(*in.PublicAccessBlockConfiguration)
	return done(), s.configure(b, func(set *bucket.Settings) { set.PublicAccess = &block })
}
