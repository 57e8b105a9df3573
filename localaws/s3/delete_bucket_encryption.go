package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// deleteBucketEncryption returns to the encryption that every bucket has: AES256, since January 2023 (AWS's user guide,
// default encryption).
func (s *Service) deleteBucketEncryption(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Encryption = nil })
}
