package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
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
func (s *Service) absent() []rest.Action {
	get := func(what string) rest.Route { return on("GET", rest.Bucket, what) }
	return []rest.Action{
		rest.Op("GetBucketAbac", get("abac"), s.getBucketABAC).Document("AbacStatus"),
		rest.Op("GetBucketAccelerateConfiguration", get("accelerate"), s.nothing).Document("AccelerateConfiguration"),
		rest.Op("GetBucketAcl", get("acl"), s.getBucketACL).Document("AccessControlPolicy"),
		rest.Op("GetBucketMetadataConfiguration", get("metadataConfiguration"), s.missing(noMetadata,
			"The metadata configuration was not found")),
		rest.Op("GetBucketMetadataTableConfiguration", get("metadataTable"), s.missing(noMetadata,
			"The metadata configuration was not found")),
		rest.Op("GetBucketPolicyStatus", get("policyStatus"), s.getBucketPolicyStatus).Document("PolicyStatus"),
		rest.Op("GetBucketReplication", get("replication"), s.missing("ReplicationConfigurationNotFoundError",
			"The replication configuration was not found")),
		rest.Op("GetBucketRequestPayment", get("requestPayment"), s.getBucketRequestPayment).
			Document("RequestPaymentConfiguration"),
		rest.Op("GetBucketVersioning", get("versioning"), s.nothing).Document("VersioningConfiguration"),
		rest.Op("GetObjectAcl", on("GET", rest.Object, "acl"), s.getObjectACL).Document("AccessControlPolicy"),
		rest.Op("GetObjectLegalHold", on("GET", rest.Object, "legal-hold"), s.unlocked),
		rest.Op("GetObjectLockConfiguration", get("object-lock"), s.missing("ObjectLockConfigurationNotFoundError",
			"Object Lock configuration does not exist for this bucket")),
		rest.Op("GetObjectRetention", on("GET", rest.Object, "retention"), s.unlocked),
		rest.Op("ListBucketAnalyticsConfigurations", get("analytics"), s.none("analytics")).
			Document("ListBucketAnalyticsConfigurationsResult"),
		rest.Op("ListBucketIntelligentTieringConfigurations", get("intelligent-tiering"),
			s.none("intelligent-tiering")).
			Document("ListBucketIntelligentTieringConfigurationsOutput"),
		rest.Op("ListBucketInventoryConfigurations", get("inventory"), s.none("inventory")).
			Document("ListInventoryConfigurationsResult"),
		rest.Op("ListBucketMetricsConfigurations", get("metrics"), s.none("metrics")).
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

func (s *Service) nothing(_ context.Context, c *rest.Call, in *BucketInput) (*Nothing, error) {
	_, err := s.bucket(c, in.Bucket)
	return &Nothing{}, err
}

// missing returns a read that finds nothing.
func (s *Service) missing(code, text string) func(context.Context, *rest.Call, *BucketInput) (*Nothing, error) {
	return func(_ context.Context, c *rest.Call, in *BucketInput) (*Nothing, error) {
		if _, err := s.bucket(c, in.Bucket); err != nil {
			return nil, err
		}
		return nil, rest.Refuse(404, code, text, "BucketName", in.Bucket)
	}
}

// none returns a list of configurations that has none, and so does not find one by its id.
func (s *Service) none(what string) func(context.Context, *rest.Call, *ListInput) (*NoneListed, error) {
	return func(_ context.Context, c *rest.Call, in *ListInput) (*NoneListed, error) {
		if _, err := s.bucket(c, in.Bucket); err != nil {
			return nil, err
		}
		if in.ID != "" {
			return nil, rest.Refuse(404, "NoSuchConfiguration", "The specified configuration does not exist.",
				"Kind", what)
		}
		return &NoneListed{}, nil
	}
}

func (s *Service) getBucketRequestPayment(_ context.Context, c *rest.Call, in *BucketInput) (*PayerOutput, error) {
	_, err := s.bucket(c, in.Bucket)
	return &PayerOutput{"BucketOwner"}, err
}

func (s *Service) getBucketABAC(_ context.Context, c *rest.Call, in *BucketInput) (*AbacOutput, error) {
	_, err := s.bucket(c, in.Bucket)
	return &AbacOutput{"Disabled"}, err
}

func (s *Service) getBucketPolicyStatus(_ context.Context, c *rest.Call, in *BucketInput) (*PolicyStatusOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if b.Settings().Policy == "" {
		return nil, rest.Refuse(404, "NoSuchBucketPolicy", "The bucket policy does not exist", "BucketName", in.Bucket)
	}
	return &PolicyStatusOutput{}, nil
}

func (s *Service) getBucketACL(_ context.Context, c *rest.Call, in *BucketInput) (*ACLOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	return shownACL(b, b.Settings().ACL), nil
}

func (s *Service) getObjectACL(_ context.Context, c *rest.Call, in *ObjectInput) (*ACLOutput, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	o, err := object(b, in.Key, in.VersionID)
	if err != nil {
		return nil, err
	}
	return shownACL(b, o.ACL), nil
}

func (s *Service) unlocked(_ context.Context, c *rest.Call, in *ObjectInput) (*Nothing, error) {
	b, err := s.bucket(c, in.Bucket)
	if err != nil {
		return nil, err
	}
	if _, err := object(b, in.Key, in.VersionID); err != nil {
		return nil, err
	}
	return nil, invalidRequest("Bucket is missing Object Lock Configuration")
}
