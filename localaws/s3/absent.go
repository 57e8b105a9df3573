package s3

import (
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ObjectInput is the input of reads about an object that need nothing else.
type ObjectInput struct {
	Bucket    string `rest:"bucket"`
	Key       string `rest:"key"`
	VersionID string `rest:"query,versionId"`
}

// Nothing is the output of a read of a part that a bucket does not use.
type Nothing struct{}

// PayerOutput is the output of GetBucketRequestPayment.
type PayerOutput struct {
	Payer string
}

// PolicyStatusOutput is the output of GetBucketPolicyStatus.
type PolicyStatusOutput struct {
	IsPublic bool
}

// ListInput is the input of reads that list configurations.
type ListInput struct {
	Bucket            string `rest:"bucket"`
	ContinuationToken string `rest:"query,continuation-token"`
	ID                string `rest:"query,id"`
}

// AbacOutput is the output of GetBucketAbac.
type AbacOutput struct {
	Status string
}

// NoneListed is the output of reads that list configurations.
type NoneListed struct {
	IsTruncated bool
}

// absent returns the reads of parts of S3 that are not built. They answer as for a bucket that does not use them.
func absent(s *Service) []rest.Action {
	get := func(what string) rest.Route { return at("GET", rest.Bucket, what) }
	return []rest.Action{
		onBucket(s, "GetBucketAbac", get("abac"), getBucketABAC).Document("AbacStatus"),
		onBucket(s, "GetBucketAccelerateConfiguration", get("accelerate"), nothing).Document("AccelerateConfiguration"),
		onBucket(s, "GetBucketAcl", get("acl"), getBucketACL).Document("AccessControlPolicy"),
		onBucket(s, "GetBucketMetadataConfiguration", get("metadataConfiguration"), missing(noMetadata,
			"The metadata configuration was not found")),
		onBucket(s, "GetBucketMetadataTableConfiguration", get("metadataTable"), missing(noMetadata,
			"The metadata configuration was not found")),
		onBucket(s, "GetBucketPolicyStatus", get("policyStatus"), getBucketPolicyStatus).Document("PolicyStatus"),
		onBucket(s, "GetBucketReplication", get("replication"), missing("ReplicationConfigurationNotFoundError",
			"The replication configuration was not found")),
		onBucket(s, "GetBucketRequestPayment", get("requestPayment"), getBucketRequestPayment).
			Document("RequestPaymentConfiguration"),
		onBucket(s, "GetBucketVersioning", get("versioning"), nothing).Document("VersioningConfiguration"),
		onBucket(s, "GetObjectAcl", at("GET", rest.Object, "acl"), getObjectACL).Document("AccessControlPolicy"),
		onBucket(s, "GetObjectLegalHold", at("GET", rest.Object, "legal-hold"), unlocked),
		onBucket(s, "GetObjectLockConfiguration", get("object-lock"), missing("ObjectLockConfigurationNotFoundError",
			"Object Lock configuration does not exist for this bucket")),
		onBucket(s, "GetObjectRetention", at("GET", rest.Object, "retention"), unlocked),
		onBucket(s, "ListBucketAnalyticsConfigurations", get("analytics"), none("analytics")).
			Document("ListBucketAnalyticsConfigurationsResult"),
		onBucket(s, "ListBucketIntelligentTieringConfigurations", get("intelligent-tiering"),
			none("intelligent-tiering")).
			Document("ListBucketIntelligentTieringConfigurationsOutput"),
		onBucket(s, "ListBucketInventoryConfigurations", get("inventory"), none("inventory")).
			Document("ListInventoryConfigurationsResult"),
		onBucket(s, "ListBucketMetricsConfigurations", get("metrics"), none("metrics")).
			Document("ListMetricsConfigurationsResult"),
	}
}

// noMetadata is the code of both reads of a bucket's metadata tables.
const noMetadata = "MetadataConfigurationNotFound"

// unbuilt names the parts of S3 that are not built, by their parameter of the URL.
func unbuilt() map[string]string {
	return map[string]string{
		"abac": "attribute-based access control", "accelerate": "transfer acceleration",
		"acl": "access control lists", "analytics": "analytics", "annotation": "annotations",
		"attributes": "object attributes", "cors": "cross-origin resource sharing",
		"encryption": "object encryption", "intelligent-tiering": "intelligent tiering", "inventory": "inventory",
		"legal-hold": "legal holds", "logging": "logging", "metadataAnnotationTable": "metadata tables",
		"metadataConfiguration": "metadata tables", "metadataInventoryTable": "metadata tables",
		"metadataJournalTable": "metadata tables", "metadataTable": "metadata tables", "metrics": "metrics",
		"object-lock": "object lock", "policyStatus": "policy status", "renameObject": "renaming",
		"replication": "replication", "requestPayment": "request payment", "restore": "restoring from archives",
		"retention": "retention", "select": "S3 Select", "session": "directory buckets", "torrent": "torrents",
		"versioning": "versioning", "versions": "versioning", "website": "website hosting",
	}
}

func nothing(call, *bucket.Bucket, *BucketInput) (*Nothing, error) { return &Nothing{}, nil }

// missing returns a read that finds nothing.
func missing(code, text string) func(call, *bucket.Bucket, *BucketInput) (*Nothing, error) {
	return func(_ call, b *bucket.Bucket, _ *BucketInput) (*Nothing, error) { return nil, notFound(b, code, text) }
}

// none returns a list of configurations that has none, and so does not find one by its id.
func none(what string) func(call, *bucket.Bucket, *ListInput) (*NoneListed, error) {
	return func(_ call, _ *bucket.Bucket, in *ListInput) (*NoneListed, error) {
		if in.ID != "" {
			return nil, rest.Refuse(404, "NoSuchConfiguration", "The specified configuration does not exist.",
				"Kind", what)
		}
		return &NoneListed{}, nil
	}
}

func getBucketRequestPayment(call, *bucket.Bucket, *BucketInput) (*PayerOutput, error) {
	return &PayerOutput{"BucketOwner"}, nil
}

func getBucketABAC(call, *bucket.Bucket, *BucketInput) (*AbacOutput, error) {
	return &AbacOutput{"Disabled"}, nil
}

func getBucketPolicyStatus(_ call, b *bucket.Bucket, in *BucketInput) (*PolicyStatusOutput, error) {
	if b.Settings().Policy == "" {
		return nil, notFound(b, "NoSuchBucketPolicy", "The bucket policy does not exist")
	}
	return &PolicyStatusOutput{}, nil
}

func getBucketACL(_ call, b *bucket.Bucket, _ *BucketInput) (*ACLOutput, error) {
	return shownACL(b, b.Settings().ACL, b.Settings().Grants), nil
}

func getObjectACL(_ call, b *bucket.Bucket, in *ObjectInput) (*ACLOutput, error) {
	o, err := object(b, in.Key, in.VersionID)
	if err != nil {
		return nil, err
	}
	return shownACL(b, o.ACL, o.Grants), nil
}

func unlocked(_ call, b *bucket.Bucket, in *ObjectInput) (*Nothing, error) {
	if _, err := object(b, in.Key, in.VersionID); err != nil {
		return nil, err
	}
	return nil, invalidRequest("Bucket is missing Object Lock Configuration")
}
