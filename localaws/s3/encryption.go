package s3

import (
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
func putBucketEncryption(_ call, b *bucket.Bucket, in *PutBucketEncryptionInput) (*Done, error) {
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
		return nil, rest.Refuse(400, "InvalidArgument", "a KMSMasterKeyID is not applicable if the default sse algorithm is "+
			"not aws:kms or aws:kms:dsse", "ArgumentName", "ApplyServerSideEncryptionByDefault")
	case key != nil:
		e.KMSKey = *key
	}
	return done(), configure(b, func(set *bucket.Settings) { set.Encryption = &e })
}

// GetBucketEncryptionOutput is the output of GetBucketEncryption.
type GetBucketEncryptionOutput struct {
	Rule []EncryptionRule
}

// getBucketEncryption never fails: every bucket has an encryption, AES256 by default, since January 2023 (AWS's user
// guide, default encryption).
func getBucketEncryption(_ call, b *bucket.Bucket, _ *BucketInput) (*GetBucketEncryptionOutput, error) {
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
func deleteBucketEncryption(_ call, b *bucket.Bucket, _ *BucketInput) (*Done, error) {
	return noContent(), configure(b, func(set *bucket.Settings) { set.Encryption = nil })
}
