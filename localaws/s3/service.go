package s3

import (
	"log/slog"
	"sync"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/keep"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// Options are what a Service needs. All fields but Logger are required.
type Options struct {
	Account      string // of seeds that have none
	Region       string // of seeds, and of new buckets, that have none
	Clock        *clock.Clock
	Random       *random.Source
	Destinations Destinations
	Logger       *slog.Logger // nil: nothing is logged
	// Kept is what Store has of the buckets; both are nil: in memory alone.
	Kept  *bucket.Kept
	Store keep.Store
	Epoch uint32 // number of the server's start, of a Store
}

// Destinations is the part of SQS and SNS that notifications need.
type Destinations interface {
	// Check returns an error if a queue or topic does not exist, cannot have notifications, or has a policy that does
	// not allow them.
	Check(destinationARN string, from Origin) error
	// Deliver sends a notification.
	Deliver(destinationARN string, from Origin, body, trace string) error
}

// Origin is the bucket that a notification is about.
type Origin struct{ BucketARN, Account string }

// Service is the model of S3, of all accounts and regions. It is safe for concurrent use.
type Service struct {
	opts  Options
	log   *slog.Logger
	store *bucket.Store

	told   sync.Map // the parts that the log has said do not act
	mu     sync.Mutex
	closed bool
	stop   func() // stops the alarm of the next midnight; nil: no bucket has a lifecycle
}

// New returns a service without buckets.
func New(o Options) *Service {
	s := &Service{opts: o, log: o.Logger, store: bucket.NewStore()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Store != nil {
		o.Kept.Restore(s.store, o.Store, o.Epoch, s.log)
		s.arm()
	}
	return s
}

// Buckets returns the buckets by name, for inspecting them without requests.
func (s *Service) Buckets() []*bucket.Bucket { return s.store.Buckets() }

// Bucket returns the bucket with a name, or nil.
func (s *Service) Bucket(name string) *bucket.Bucket { return s.store.Bucket(name) }

// Reset deletes every bucket with its objects.
func (s *Service) Reset() {
	s.mu.Lock()
	s.sleep()
	s.mu.Unlock()
	s.store.Reset()
}

// Close is the same as Reset, and stops lifecycles.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.sleep()
	s.mu.Unlock()
	s.store.Close()
}

// Wire returns the service's actions.
func (s *Service) Wire() *rest.Service {
	return &rest.Service{
		Name: "s3", XMLNS: "http://s3.amazonaws.com/doc/2006-03-01/", Unbuilt: unbuilt(),
		Actions: append(append(append(s.bucketActions(), s.settingActions()...), s.objectActions()...), s.absent()...),
	}
}

func on(method string, level rest.Level, query ...string) rest.Route {
	return rest.Route{Method: method, Level: level, Query: query}
}

func copying(query ...string) rest.Route {
	return rest.Route{Method: "PUT", Level: rest.Object, Query: query, Header: "x-amz-copy-source"}
}

func (s *Service) bucketActions() []rest.Action {
	return []rest.Action{
		rest.Op("CreateBucket", on("PUT", rest.Bucket), s.createBucket),
		rest.Op("DeleteBucket", on("DELETE", rest.Bucket), s.deleteBucket),
		rest.Op("GetBucketLocation", on("GET", rest.Bucket, "location"), s.getBucketLocation).
			Document("LocationConstraint"),
		rest.Op("HeadBucket", on("HEAD", rest.Bucket), s.headBucket),
		rest.Op("ListBuckets", on("GET", rest.Root), s.listBuckets).Document("ListAllMyBucketsResult"),
		rest.Op("ListMultipartUploads", on("GET", rest.Bucket, "uploads"), s.listMultipartUploads).
			Document("ListMultipartUploadsResult"),
		rest.Op("ListObjects", on("GET", rest.Bucket), s.listObjects).Document("ListBucketResult"),
		rest.Op("ListObjectsV2", on("GET", rest.Bucket, "list-type=2"), s.listObjectsV2).Document("ListBucketResult"),
		rest.Op("ListObjectVersions", on("GET", rest.Bucket, "versions"), s.listObjectVersions).
			Document("ListVersionsResult"),
		rest.Op("DeleteObjects", on("POST", rest.Bucket, "delete"), s.deleteObjects).Document("DeleteResult"),
	}
}

func (s *Service) settingActions() []rest.Action {
	put := func(what string) rest.Route { return on("PUT", rest.Bucket, what) }
	get := func(what string) rest.Route { return on("GET", rest.Bucket, what) }
	remove := func(what string) rest.Route { return on("DELETE", rest.Bucket, what) }
	return []rest.Action{
		rest.Op("DeleteBucketCors", remove("cors"), s.deleteBucketCORS),
		rest.Op("DeleteBucketEncryption", remove("encryption"), s.deleteBucketEncryption),
		rest.Op("DeleteBucketLifecycle", remove("lifecycle"), s.deleteBucketLifecycle),
		rest.Op("DeleteBucketOwnershipControls", remove("ownershipControls"), s.deleteBucketOwnershipControls),
		rest.Op("DeleteBucketPolicy", remove("policy"), s.deleteBucketPolicy),
		rest.Op("DeleteBucketTagging", remove("tagging"), s.deleteBucketTagging),
		rest.Op("DeleteBucketWebsite", remove("website"), s.deleteBucketWebsite),
		rest.Op("DeletePublicAccessBlock", remove("publicAccessBlock"), s.deletePublicAccessBlock),
		rest.Op("GetBucketCors", get("cors"), s.getBucketCORS).Document("CORSConfiguration"),
		rest.Op("GetBucketEncryption", get("encryption"), s.getBucketEncryption).
			Document("ServerSideEncryptionConfiguration"),
		rest.Op("GetBucketLifecycleConfiguration", get("lifecycle"), s.getBucketLifecycleConfiguration).
			Document("LifecycleConfiguration"),
		rest.Op("GetBucketLogging", get("logging"), s.getBucketLogging).Document("BucketLoggingStatus"),
		rest.Op("GetBucketNotificationConfiguration", get("notification"), s.getBucketNotificationConfiguration).
			Document("NotificationConfiguration"),
		rest.Op("GetBucketOwnershipControls", get("ownershipControls"), s.getBucketOwnershipControls).
			Document("OwnershipControls"),
		rest.Op("GetBucketPolicy", get("policy"), s.getBucketPolicy),
		rest.Op("GetBucketTagging", get("tagging"), s.getBucketTagging).Document("Tagging"),
		rest.Op("GetBucketWebsite", get("website"), s.getBucketWebsite).Document("WebsiteConfiguration"),
		rest.Op("GetPublicAccessBlock", get("publicAccessBlock"), s.getPublicAccessBlock).
			Document("PublicAccessBlockConfiguration"),
		rest.Op("PutBucketAcl", put("acl"), s.putBucketACL),
		rest.Op("PutBucketCors", put("cors"), s.putBucketCORS),
		rest.Op("PutBucketEncryption", put("encryption"), s.putBucketEncryption),
		rest.Op("PutBucketLifecycleConfiguration", put("lifecycle"), s.putBucketLifecycleConfiguration),
		rest.Op("PutBucketLogging", put("logging"), s.putBucketLogging),
		rest.Op("PutBucketNotificationConfiguration", put("notification"), s.putBucketNotificationConfiguration),
		rest.Op("PutBucketOwnershipControls", put("ownershipControls"), s.putBucketOwnershipControls),
		rest.Op("PutBucketPolicy", put("policy"), s.putBucketPolicy),
		rest.Op("PutBucketTagging", put("tagging"), s.putBucketTagging),
		rest.Op("PutBucketWebsite", put("website"), s.putBucketWebsite),
		rest.Op("PutPublicAccessBlock", put("publicAccessBlock"), s.putPublicAccessBlock),
	}
}

func (s *Service) objectActions() []rest.Action {
	return []rest.Action{
		rest.Op("AbortMultipartUpload", on("DELETE", rest.Object, "uploadId"), s.abortMultipartUpload),
		rest.Op("CompleteMultipartUpload", on("POST", rest.Object, "uploadId"), s.completeMultipartUpload).
			Document("CompleteMultipartUploadResult"),
		rest.Op("CopyObject", copying(), s.copyObject).Document("CopyObjectResult"),
		rest.Op("CreateMultipartUpload", on("POST", rest.Object, "uploads"), s.createMultipartUpload).
			Document("InitiateMultipartUploadResult"),
		rest.Op("DeleteObject", on("DELETE", rest.Object), s.deleteObject),
		rest.Op("DeleteObjectTagging", on("DELETE", rest.Object, "tagging"), s.deleteObjectTagging),
		rest.Op("GetObject", on("GET", rest.Object), s.getObject),
		rest.Op("GetObjectAttributes", on("GET", rest.Object, "attributes"), s.getObjectAttributes).
			Document("GetObjectAttributesResponse"),
		rest.Op("GetObjectTagging", on("GET", rest.Object, "tagging"), s.getObjectTagging).Document("Tagging"),
		rest.Op("HeadObject", on("HEAD", rest.Object), s.headObject),
		rest.Op("ListParts", on("GET", rest.Object, "uploadId"), s.listParts).Document("ListPartsResult"),
		rest.Op("PutObject", on("PUT", rest.Object), s.putObject).Streaming(),
		rest.Op("PutObjectTagging", on("PUT", rest.Object, "tagging"), s.putObjectTagging),
		rest.Op("UploadPart", on("PUT", rest.Object, "partNumber", "uploadId"), s.uploadPart).Streaming(),
		rest.Op("UploadPartCopy", copying("partNumber", "uploadId"), s.uploadPartCopy).Document("CopyPartResult"),
	}
}
