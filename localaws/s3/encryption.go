package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// PutBucketEncryptionInput is the input of PutBucketEncryption.
type PutBucketEncryptionInput struct {
	Bucket                            string             `rest:"bucket"`
	ServerSideEncryptionConfiguration *EncryptionSetting `rest:"payload,ServerSideEncryptionConfiguration"`
}

// EncryptionSetting is the default encryption of a bucket.
type EncryptionSetting struct {
	Rule []EncryptionRule
}

// EncryptionRule is the only rule of an EncryptionSetting.
type EncryptionRule struct {
	ApplyServerSideEncryptionByDefault *EncryptionDefault
	BucketKeyEnabled                   *bool
	BlockedEncryptionTypes             *BlockedEncryption
}

// EncryptionDefault names the encryption.
type EncryptionDefault struct {
	SSEAlgorithm   string
	KMSMasterKeyID *string
}

// BlockedEncryption names encryptions that a bucket refuses. Only NONE is supported.
type BlockedEncryption struct {
	EncryptionType []string
}

// putBucketEncryption counts for objects that are put later, and takes a key of KMS that does not exist (AWS's API
// reference, PutBucketEncryption). A key together with AES256 is an InvalidArgument.
func (s *Service) putBucketEncryption(_ context.Context, c *rest.Call, in *PutBucketEncryptionInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	set := in.ServerSideEncryptionConfiguration
	if set == nil || len(set.Rule) != 1 || set.Rule[0].ApplyServerSideEncryptionByDefault == nil {
		return nil, rest.MalformedXML()
	}
	rule := set.Rule[0]
	if blocked := rule.BlockedEncryptionTypes; blocked != nil {
		for _, kind := range blocked.EncryptionType {
			if kind != "NONE" {
				return nil, notImplemented("BlockedEncryptionTypes " + kind)
			}
		}
	}
	e := bucket.Encryption{Algorithm: rule.ApplyServerSideEncryptionByDefault.SSEAlgorithm}
	if rule.BucketKeyEnabled != nil {
		e.BucketKey = *rule.BucketKeyEnabled
	}
	key := rule.ApplyServerSideEncryptionByDefault.KMSMasterKeyID
	switch {
	case e.Algorithm != aes256 && e.Algorithm != kms && e.Algorithm != kmsDouble:
		return nil, rest.MalformedXML()
	case e.Algorithm == aes256 && key != nil:
		return nil, rest.InvalidArgument("a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or "+
			"aws:kms:dsse", "ApplyServerSideEncryptionByDefault", "")
	case key != nil:
		e.KMSKey = *key
	}
	return done(), s.configure(b, func(set *bucket.Settings) { set.Encryption = &e })
}

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

// deleteBucketEncryption returns to the encryption that every bucket has: AES256, since January 2023 (AWS's user guide,
// default encryption).
func (s *Service) deleteBucketEncryption(_ context.Context, c *rest.Call, in *BucketInput) (*Done, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return noContent(), s.configure(b, func(set *bucket.Settings) { set.Encryption = nil })
}
