package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// GetBucketEncryptionOutput is the output of GetBucketEncryption.
type GetBucketEncryptionOutput struct {
	Rule []EncryptionRule
}

// getBucketEncryption never fails: every bucket has an encryption, AES256 by default, since January 2023 (AWS's user
// guide, default encryption).
func (s *Service) getBucketEncryption(
	_ context.Context, c *rest.Call, in *BucketInput,
) (*GetBucketEncryptionOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	e := bucket.Encryption{Algorithm: aes256}
	if set := b.Settings().Encryption; set != nil {
		e = *set
	}
	byDefault := &EncryptionDefault{SSEAlgorithm: e.Algorithm}
	if e.KMSKey != "" {
		byDefault.KMSMasterKeyID = &e.KMSKey
	}
	return &GetBucketEncryptionOutput{[]EncryptionRule{{
		ApplyServerSideEncryptionByDefault: byDefault, BucketKeyEnabled: &e.BucketKey,
	}}}, nil
}
