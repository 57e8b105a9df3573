// Package localaws is an AWS on your machine.
//
// Its nouns: a [Server] holds all resources of one account and region. Its services are models behind the wire
// protocols. A control is a function that observes, fails, delays or drops calls. The clock is the server's own and can
// be advanced.
//
//	server, err := localaws.New(nil)
//	defer server.Close()
//	client := sqs.New(sqs.Options{
//		Region:       "us-east-1",
//		BaseEndpoint: aws.String("http://localaws"), // any host: no socket is opened
//		HTTPClient:   &http.Client{Transport: server.Transport()},
//		Credentials:  aws.AnonymousCredentials{},
//	})
//
// Listen opens an address for clients in other processes and languages. Any access key and secret are accepted;
// signatures are not checked. A server created in a testing/synctest bubble uses the bubble's virtual time. A server
// has one account and one region, whatever region a request is signed for; a process can have many servers.
//
// For tests there are Control (fail, delay, drop or break any call, before or after it took effect), Advance (move the
// clock), SQS, SNS and S3 (inspect without receiving, wait for a state, deliver twice or out of order), Calls (count
// requests), Options.Seed (repeat everything random) and Plant (create queues, topics and buckets from a file). Over
// HTTP there are, in addition to AWS's actions:
//
//	GET  /_localaws/health                  {"status":"ok"}
//	GET  /_localaws/queues                  every queue with its counts
//	GET  /_localaws/queues/NAME/messages    every message, group locks, deduplication table
//	GET  /_localaws/topics                  topics, subscriptions, failed deliveries
//	GET  /_localaws/buckets                 every bucket with its counts
//	GET  /_localaws/buckets/NAME/objects    every object of a bucket; prefix=… selects
//	POST /_localaws/advance?d=1h            moves the clock
//	POST /_localaws/reset                   empties the server
//
// Every list comes in pages of 1,000 elements, or of limit=N; the field next of a page is the value of after= for the
// next one.
//
// # What is supported
//
// The actions and parameters that are listed here; any other action, parameter or attribute is answered by an error
// that names it.
//
// Amazon SQS, in awsJson 1.0 and in the query protocol:
//
//	AddPermission                 QueueUrl, Label, AWSAccountIds, Actions
//	CancelMessageMoveTask         TaskHandle
//	ChangeMessageVisibility       QueueUrl, ReceiptHandle, VisibilityTimeout
//	ChangeMessageVisibilityBatch  QueueUrl, Entries
//	CreateQueue                   QueueName, Attributes, tags
//	DeleteMessage                 QueueUrl, ReceiptHandle
//	DeleteMessageBatch            QueueUrl, Entries
//	DeleteQueue                   QueueUrl
//	GetQueueAttributes            QueueUrl, AttributeNames
//	GetQueueUrl                   QueueName, QueueOwnerAWSAccountId
//	ListDeadLetterSourceQueues    QueueUrl, NextToken, MaxResults
//	ListMessageMoveTasks          SourceArn, MaxResults
//	ListQueueTags                 QueueUrl
//	ListQueues                    QueueNamePrefix, NextToken, MaxResults
//	PurgeQueue                    QueueUrl
//	ReceiveMessage                QueueUrl, AttributeNames, MessageSystemAttributeNames, MessageAttributeNames,
//	                              MaxNumberOfMessages, VisibilityTimeout, WaitTimeSeconds, ReceiveRequestAttemptId
//	RemovePermission              QueueUrl, Label
//	SendMessage                   QueueUrl, MessageBody, DelaySeconds, MessageAttributes, MessageSystemAttributes,
//	                              MessageDeduplicationId, MessageGroupId
//	SendMessageBatch              QueueUrl, Entries
//	SetQueueAttributes            QueueUrl, Attributes
//	StartMessageMoveTask          SourceArn, DestinationArn, MaxNumberOfMessagesPerSecond
//	TagQueue                      QueueUrl, Tags
//	UntagQueue                    QueueUrl, TagKeys
//
// Attributes of queues: ApproximateNumberOfMessages, ApproximateNumberOfMessagesDelayed,
// ApproximateNumberOfMessagesNotVisible, ContentBasedDeduplication, CreatedTimestamp, DeduplicationScope, DelaySeconds,
// FifoQueue, FifoThroughputLimit, KmsDataKeyReusePeriodSeconds, KmsMasterKeyId, LastModifiedTimestamp,
// MaximumMessageSize, MessageRetentionPeriod, Policy, QueueArn, ReceiveMessageWaitTimeSeconds, RedriveAllowPolicy,
// RedrivePolicy, SqsManagedSseEnabled, VisibilityTimeout. Policies apply to deliveries of other services; a caller
// itself may do everything. Messages are not encrypted; the attributes are stored and shown. A receive returns every
// available message at once, up to its limit; AWS may sample. Fairness between the groups of a standard queue is not
// modelled.
//
// Amazon SNS, in the query protocol:
//
//	AddPermission                 TopicArn, Label, AWSAccountId, ActionName
//	ConfirmSubscription           TopicArn, Token, AuthenticateOnUnsubscribe
//	CreateTopic                   Name, Attributes, Tags, DataProtectionPolicy (refused unless empty)
//	DeleteTopic                   TopicArn
//	GetSubscriptionAttributes     SubscriptionArn
//	GetTopicAttributes            TopicArn
//	ListSubscriptions             NextToken
//	ListSubscriptionsByTopic      TopicArn, NextToken
//	ListTagsForResource           ResourceArn
//	ListTopics                    NextToken
//	Publish                       TopicArn, TargetArn, PhoneNumber (refused), Message, Subject, MessageStructure,
//	                              MessageAttributes, MessageDeduplicationId, MessageGroupId
//	PublishBatch                  TopicArn, PublishBatchRequestEntries
//	RemovePermission              TopicArn, Label
//	SetSubscriptionAttributes     SubscriptionArn, AttributeName, AttributeValue
//	SetTopicAttributes            TopicArn, AttributeName, AttributeValue
//	Subscribe                     TopicArn, Protocol (sqs, http, https), Endpoint, Attributes, ReturnSubscriptionArn
//	TagResource                   ResourceArn, Tags
//	UntagResource                 ResourceArn, TagKeys
//	Unsubscribe                   SubscriptionArn
//
// AWS STS, in the query protocol, and Resource Groups Tagging, in awsJson 1.1:
//
//	GetCallerIdentity
//	GetResources                  PaginationToken, TagFilters, ResourcesPerPage, TagsPerPage, ResourceTypeFilters,
//	                              ResourceARNList, IncludeComplianceDetails, ExcludeCompliantResources
//
// Amazon S3, in REST-XML. Every action also takes ExpectedBucketOwner; PutObject and UploadPart also take ContentMD5,
// and a checksum in a header or in the trailer of an aws-chunked body:
//
//	AbortMultipartUpload                Bucket, Key, UploadId
//	CompleteMultipartUpload             Bucket, ChecksumCRC32, ChecksumCRC32C, ChecksumCRC64NVME, ChecksumSHA1,
//	                                    ChecksumSHA256, ChecksumType, IfMatch, IfNoneMatch, Key, MpuObjectSize,
//	                                    MultipartUpload, SSECustomerAlgorithm, SSECustomerKey, SSECustomerKeyMD5,
//	                                    UploadId
//	CopyObject                          ACL, Bucket, BucketKeyEnabled, CacheControl, ChecksumAlgorithm,
//	                                    ContentDisposition, ContentEncoding, ContentLanguage, ContentType,
//	                                    CopySource, CopySourceIfMatch, CopySourceIfModifiedSince,
//	                                    CopySourceIfNoneMatch, CopySourceIfUnmodifiedSince,
//	                                    CopySourceSSECustomerAlgorithm, CopySourceSSECustomerKey,
//	                                    CopySourceSSECustomerKeyMD5, ExpectedSourceBucketOwner, Expires, IfMatch,
//	                                    IfNoneMatch, Key, Metadata, MetadataDirective, SSECustomerAlgorithm,
//	                                    SSECustomerKey, SSECustomerKeyMD5, SSEKMSEncryptionContext, SSEKMSKeyId,
//	                                    ServerSideEncryption, StorageClass, Tagging, TaggingDirective,
//	                                    WebsiteRedirectLocation
//	CreateBucket                        ACL, Bucket, CreateBucketConfiguration, ObjectOwnership
//	CreateMultipartUpload               ACL, Bucket, BucketKeyEnabled, CacheControl, ChecksumAlgorithm,
//	                                    ChecksumType, ContentDisposition, ContentEncoding, ContentLanguage,
//	                                    ContentType, Expires, Key, Metadata, SSECustomerAlgorithm, SSECustomerKey,
//	                                    SSECustomerKeyMD5, SSEKMSEncryptionContext, SSEKMSKeyId,
//	                                    ServerSideEncryption, StorageClass, Tagging, WebsiteRedirectLocation
//	DeleteBucket                        Bucket
//	DeleteBucketEncryption              Bucket
//	DeleteBucketLifecycle               Bucket
//	DeleteBucketOwnershipControls       Bucket
//	DeleteBucketPolicy                  Bucket
//	DeleteBucketTagging                 Bucket
//	DeleteObject                        Bucket, IfMatch, Key, VersionId
//	DeleteObjectTagging                 Bucket, Key, VersionId
//	DeleteObjects                       Bucket, Delete
//	DeletePublicAccessBlock             Bucket
//	GetBucketAccelerateConfiguration    Bucket
//	GetBucketAcl                        Bucket
//	GetBucketCors                       Bucket
//	GetBucketEncryption                 Bucket
//	GetBucketLifecycleConfiguration     Bucket
//	GetBucketLocation                   Bucket
//	GetBucketLogging                    Bucket
//	GetBucketNotificationConfiguration  Bucket
//	GetBucketOwnershipControls          Bucket
//	GetBucketPolicy                     Bucket
//	GetBucketPolicyStatus               Bucket
//	GetBucketReplication                Bucket
//	GetBucketRequestPayment             Bucket
//	GetBucketTagging                    Bucket
//	GetBucketVersioning                 Bucket
//	GetBucketWebsite                    Bucket
//	GetObject                           Bucket, ChecksumMode, IfMatch, IfModifiedSince, IfNoneMatch,
//	                                    IfUnmodifiedSince, Key, PartNumber, Range, ResponseCacheControl,
//	                                    ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage,
//	                                    ResponseContentType, ResponseExpires, SSECustomerAlgorithm, SSECustomerKey,
//	                                    SSECustomerKeyMD5, VersionId
//	GetObjectAcl                        Bucket, Key, VersionId
//	GetObjectLegalHold                  Bucket, Key, VersionId
//	GetObjectLockConfiguration          Bucket
//	GetObjectRetention                  Bucket, Key, VersionId
//	GetObjectTagging                    Bucket, Key, VersionId
//	GetPublicAccessBlock                Bucket
//	HeadBucket                          Bucket
//	HeadObject                          Bucket, ChecksumMode, IfMatch, IfModifiedSince, IfNoneMatch,
//	                                    IfUnmodifiedSince, Key, PartNumber, Range, ResponseCacheControl,
//	                                    ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage,
//	                                    ResponseContentType, ResponseExpires, SSECustomerAlgorithm, SSECustomerKey,
//	                                    SSECustomerKeyMD5, VersionId
//	ListBucketAnalyticsConfigurations   Bucket, ContinuationToken, ID
//	ListBucketIntelligentTieringConfigurations  Bucket, ContinuationToken, ID
//	ListBucketInventoryConfigurations   Bucket, ContinuationToken, ID
//	ListBucketMetricsConfigurations     Bucket, ContinuationToken, ID
//	ListBuckets                         BucketRegion, ContinuationToken, MaxBuckets, Prefix
//	ListMultipartUploads                Bucket, Delimiter, EncodingType, KeyMarker, MaxUploads, Prefix,
//	                                    UploadIDMarker
//	ListObjectVersions                  Bucket, Delimiter, EncodingType, KeyMarker, MaxKeys, Prefix, VersionIDMarker
//	ListObjects                         Bucket, Delimiter, EncodingType, Marker, MaxKeys, Prefix
//	ListObjectsV2                       Bucket, ContinuationToken, Delimiter, EncodingType, FetchOwner, MaxKeys,
//	                                    Prefix, StartAfter
//	ListParts                           Bucket, Key, MaxParts, PartNumberMarker, UploadId
//	PutBucketEncryption                 Bucket, ServerSideEncryptionConfiguration
//	PutBucketLifecycleConfiguration     Bucket, LifecycleConfiguration, TransitionDefaultMinimumObjectSize
//	PutBucketNotificationConfiguration  Bucket, NotificationConfiguration, SkipDestinationValidation
//	PutBucketOwnershipControls          Bucket, OwnershipControls
//	PutBucketPolicy                     Bucket, ConfirmRemoveSelfBucketAccess, Policy
//	PutBucketTagging                    Bucket, Tagging
//	PutObject                           ACL, Bucket, BucketKeyEnabled, CacheControl, ContentDisposition,
//	                                    ContentEncoding, ContentLanguage, ContentType, Expires, IfMatch, IfNoneMatch,
//	                                    Key, Metadata, SSECustomerAlgorithm, SSECustomerKey, SSECustomerKeyMD5,
//	                                    SSEKMSEncryptionContext, SSEKMSKeyId, ServerSideEncryption, StorageClass,
//	                                    Tagging, WebsiteRedirectLocation
//	PutObjectTagging                    Bucket, Key, Tagging, VersionId
//	PutPublicAccessBlock                Bucket, PublicAccessBlockConfiguration
//	UploadPart                          Bucket, Key, PartNumber, SSECustomerAlgorithm, SSECustomerKey,
//	                                    SSECustomerKeyMD5, UploadId
//	UploadPartCopy                      Bucket, CopySource, CopySourceIfMatch, CopySourceIfModifiedSince,
//	                                    CopySourceIfNoneMatch, CopySourceIfUnmodifiedSince, CopySourceRange,
//	                                    CopySourceSSECustomerAlgorithm, CopySourceSSECustomerKey,
//	                                    CopySourceSSECustomerKeyMD5, ExpectedSourceBucketOwner, Key, PartNumber,
//	                                    SSECustomerAlgorithm, SSECustomerKey, SSECustomerKeyMD5, UploadId
//
// Checksums are CRC32, CRC32C, CRC64NVME, SHA1 and SHA256. Of an object without one, the checksum is CRC64NVME. A
// bucket has no versions, so VersionId may only be null. Canned ACLs may only be private or bucket-owner-full-control.
// Of a lifecycle, expiration by days or date and the abortion of uploads act, at midnight UTC; transitions are refused.
// Notifications go to queues and topics, for ObjectCreated, ObjectRemoved, LifecycleExpiration and ObjectTagging. A
// bucket's policy is stored and shown. The bucket is in the path, or in the host: before a label s3, below localhost
// and localaws, or as an existing bucket's name in front of any other host. Presigned URLs expire on the server's
// clock.
package localaws
