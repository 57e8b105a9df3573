package s3

import (
	"context"
	"encoding/json"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketPolicyInput is the input of PutBucketPolicy.
type PutBucketPolicyInput struct {
	Bucket                        string `rest:"bucket"`
	ConfirmRemoveSelfBucketAccess *bool  `rest:"header,x-amz-confirm-remove-self-bucket-access"`
	Policy                        string `rest:"text"`
}

// maxPolicy is the longest policy of a bucket.
const maxPolicy = 20 << 10

// putBucketPolicy stores a policy. It refuses nobody, because every caller is the owner.
func (s *Service) putBucketPolicy(_ context.Context, c *rest.Call, in *PutBucketPolicyInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	var document struct {
		Version   string
		Statement json.RawMessage
	}
	switch {
	case len(in.Policy) > maxPolicy:
		return nil, rest.Refuse(400, "PolicyTooLarge", "The bucket policy is larger than 20 KB")
	case json.Unmarshal([]byte(in.Policy), &document) != nil:
		return nil, rest.Refuse(400, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	case len(document.Statement) == 0:
		return nil, rest.Refuse(400, "MalformedPolicy", "Missing required field Statement")
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Policy = in.Policy })
}

// configure changes the settings of a bucket.
func (s *Service) configure(b *bucket.Bucket, alter func(*bucket.Settings)) error {
	if err := b.Configure(alter); err != nil {
		return modelError(err, b, "", "", bucket.Condition{})
	}
	return nil
}
