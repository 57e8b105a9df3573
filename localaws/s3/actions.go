package s3

import (
	"context"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// call is a call of an action.
type call struct {
	*rest.Call
	at *Service
}

// onAccount returns an action that is not about one bucket, or finds its bucket itself.
func onAccount[I, O any](s *Service, name string, route rest.Route, action func(call, *I) (*O, error)) rest.Action {
	return rest.Op(name, route, func(_ context.Context, c *rest.Call, in *I) (*O, error) {
		return action(call{c, s}, in)
	})
}

// onBucket returns an action on the bucket that the call names, or on an object of it.
func onBucket[I, O any](s *Service, name string, route rest.Route,
	action func(call, *bucket.Bucket, *I) (*O, error),
) rest.Action {
	return onAccount(s, name, route, func(c call, in *I) (*O, error) {
		b, err := c.named()
		if err != nil {
			return nil, err
		}
		return action(c, b, in)
	})
}

// named returns the bucket of a call. A bucket of another region than that of the signature is answered by a redirect.
func (c call) named() (*bucket.Bucket, error) {
	b, err := c.anyRegion()
	if err == nil && c.Region != "" && c.Region != b.Region() {
		moved := rest.Refuse(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using "+
			"the specified endpoint. Please send all future requests to this endpoint.",
			"Endpoint", b.Name()+".s3."+b.Region()+".amazonaws.com", "Bucket", b.Name())
		moved.Header = map[string]string{"X-Amz-Bucket-Region": b.Region()}
		return nil, moved
	}
	return b, err
}

// anyRegion returns the bucket of a call, whatever region it is signed for.
func (c call) anyRegion() (*bucket.Bucket, error) {
	if err := checkSignedRegion(c.Region); err != nil {
		return nil, err
	}
	b := c.at.store.Bucket(c.Bucket)
	switch {
	case b == nil && !validBucketName(c.Bucket):
		return nil, invalidBucketName(c.Bucket)
	case b == nil:
		return nil, noSuchBucket(c.Bucket)
	case c.Owner != "" && c.Owner != b.Account() || !c.mayUse(b):
		return nil, accessDenied()
	}
	return b, nil
}

// checkSignedRegion refuses the name that SDKs have for the global endpoint, which is signed for the first region.
func checkSignedRegion(region string) error {
	if region == "aws-global" {
		return rest.Refuse(400, "AuthorizationHeaderMalformed", "The authorization header is malformed; the region '"+
			region+"' is wrong; expecting '"+firstRegion+"'", "Region", firstRegion)
	}
	return nil
}

// mayUse reports whether the caller may use a bucket: a caller of its account, and one that is not signed. The policies
// of buckets are not asked.
func (c call) mayUse(b *bucket.Bucket) bool { return c.Caller == "" || c.Account == b.Account() }

func at(method string, level rest.Level, query ...string) rest.Route {
	return rest.Route{Method: method, Level: level, Query: query}
}

func copying(query ...string) rest.Route {
	return rest.Route{Method: "PUT", Level: rest.Object, Query: query, Header: "x-amz-copy-source"}
}

func bucketActions(s *Service) []rest.Action {
	return []rest.Action{
		onAccount(s, "CreateBucket", at("PUT", rest.Bucket), createBucket),
		onBucket(s, "DeleteBucket", at("DELETE", rest.Bucket), deleteBucket),
		onAccount(s, "GetBucketLocation", at("GET", rest.Bucket, "location"), getBucketLocation).
			Document("LocationConstraint"),
		onBucket(s, "HeadBucket", at("HEAD", rest.Bucket), headBucket),
		onAccount(s, "ListBuckets", at("GET", rest.Root), listBuckets).Document("ListAllMyBucketsResult"),
		onBucket(s, "ListMultipartUploads", at("GET", rest.Bucket, "uploads"), listMultipartUploads).
			Document("ListMultipartUploadsResult"),
		onBucket(s, "ListObjects", at("GET", rest.Bucket), listObjects).Document("ListBucketResult"),
		onBucket(s, "ListObjectsV2", at("GET", rest.Bucket, "list-type=2"), listObjectsV2).Document("ListBucketResult"),
		onBucket(s, "ListObjectVersions", at("GET", rest.Bucket, "versions"), listObjectVersions).
			Document("ListVersionsResult"),
		onBucket(s, "DeleteObjects", at("POST", rest.Bucket, "delete"), deleteObjects).Document("DeleteResult"),
	}
}

func settingActions(s *Service) []rest.Action {
	put := func(what string) rest.Route { return at("PUT", rest.Bucket, what) }
	get := func(what string) rest.Route { return at("GET", rest.Bucket, what) }
	remove := func(what string) rest.Route { return at("DELETE", rest.Bucket, what) }
	return []rest.Action{
		onBucket(s, "DeleteBucketCors", remove("cors"), deleteBucketCORS),
		onBucket(s, "DeleteBucketEncryption", remove("encryption"), deleteBucketEncryption),
		onBucket(s, "DeleteBucketLifecycle", remove("lifecycle"), deleteBucketLifecycle),
		onBucket(s, "DeleteBucketOwnershipControls", remove("ownershipControls"), deleteBucketOwnershipControls),
		onBucket(s, "DeleteBucketPolicy", remove("policy"), deleteBucketPolicy),
		onBucket(s, "DeleteBucketTagging", remove("tagging"), deleteBucketTagging),
		onBucket(s, "DeleteBucketWebsite", remove("website"), deleteBucketWebsite),
		onBucket(s, "DeletePublicAccessBlock", remove("publicAccessBlock"), deletePublicAccessBlock),
		onBucket(s, "GetBucketCors", get("cors"), getBucketCORS).Document("CORSConfiguration"),
		onBucket(s, "GetBucketEncryption", get("encryption"), getBucketEncryption).
			Document("ServerSideEncryptionConfiguration"),
		onBucket(s, "GetBucketLifecycleConfiguration", get("lifecycle"), getBucketLifecycleConfiguration).
			Document("LifecycleConfiguration"),
		onBucket(s, "GetBucketLogging", get("logging"), getBucketLogging).Document("BucketLoggingStatus"),
		onBucket(s, "GetBucketNotificationConfiguration", get("notification"), getBucketNotificationConfiguration).
			Document("NotificationConfiguration"),
		onBucket(s, "GetBucketOwnershipControls", get("ownershipControls"), getBucketOwnershipControls).
			Document("OwnershipControls"),
		onBucket(s, "GetBucketPolicy", get("policy"), getBucketPolicy),
		onBucket(s, "GetBucketTagging", get("tagging"), getBucketTagging).Document("Tagging"),
		onBucket(s, "GetBucketWebsite", get("website"), getBucketWebsite).Document("WebsiteConfiguration"),
		onBucket(s, "GetPublicAccessBlock", get("publicAccessBlock"), getPublicAccessBlock).
			Document("PublicAccessBlockConfiguration"),
		onBucket(s, "PutBucketAcl", put("acl"), putBucketACL),
		onBucket(s, "PutBucketCors", put("cors"), putBucketCORS),
		onBucket(s, "PutBucketEncryption", put("encryption"), putBucketEncryption),
		onBucket(s, "PutBucketLifecycleConfiguration", put("lifecycle"), putBucketLifecycleConfiguration),
		onBucket(s, "PutBucketLogging", put("logging"), putBucketLogging),
		onBucket(s, "PutBucketNotificationConfiguration", put("notification"), putBucketNotificationConfiguration),
		onBucket(s, "PutBucketOwnershipControls", put("ownershipControls"), putBucketOwnershipControls),
		onBucket(s, "PutBucketPolicy", put("policy"), putBucketPolicy),
		onBucket(s, "PutBucketTagging", put("tagging"), putBucketTagging),
		onBucket(s, "PutBucketWebsite", put("website"), putBucketWebsite),
		onBucket(s, "PutPublicAccessBlock", put("publicAccessBlock"), putPublicAccessBlock),
	}
}

func objectActions(s *Service) []rest.Action {
	return []rest.Action{
		onBucket(s, "AbortMultipartUpload", at("DELETE", rest.Object, "uploadId"), abortMultipartUpload),
		onBucket(s, "CompleteMultipartUpload", at("POST", rest.Object, "uploadId"), completeMultipartUpload).
			Document("CompleteMultipartUploadResult"),
		onBucket(s, "CopyObject", copying(), copyObject).Document("CopyObjectResult"),
		onBucket(s, "CreateMultipartUpload", at("POST", rest.Object, "uploads"), createMultipartUpload).
			Document("InitiateMultipartUploadResult"),
		onBucket(s, "DeleteObject", at("DELETE", rest.Object), deleteObject),
		onBucket(s, "DeleteObjectTagging", at("DELETE", rest.Object, "tagging"), deleteObjectTagging),
		onBucket(s, "GetObject", at("GET", rest.Object), getObject),
		onBucket(s, "GetObjectAttributes", at("GET", rest.Object, "attributes"), getObjectAttributes).
			Document("GetObjectAttributesResponse"),
		onBucket(s, "GetObjectTagging", at("GET", rest.Object, "tagging"), getObjectTagging).Document("Tagging"),
		onBucket(s, "HeadObject", at("HEAD", rest.Object), headObject),
		onBucket(s, "ListParts", at("GET", rest.Object, "uploadId"), listParts).Document("ListPartsResult"),
		onBucket(s, "PutObject", at("PUT", rest.Object), putObject).Streaming(),
		onBucket(s, "PutObjectAcl", at("PUT", rest.Object, "acl"), putObjectACL),
		onBucket(s, "PutObjectTagging", at("PUT", rest.Object, "tagging"), putObjectTagging),
		onBucket(s, "UploadPart", at("PUT", rest.Object, "partNumber", "uploadId"), uploadPart).Streaming(),
		onBucket(s, "UploadPartCopy", copying("partNumber", "uploadId"), uploadPartCopy).Document("CopyPartResult"),
	}
}
