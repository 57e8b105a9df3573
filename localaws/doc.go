// Package localaws is an AWS on your machine.
//
// Its nouns: a [Server] holds the resources of all accounts and regions. A [Place] is an account in a region, with
// services of its own. The services are models behind the wire protocols. A control is a function that observes, fails,
// delays or drops calls. The clock is the server's own and can be advanced. A store (Options.Store, package
// localaws/disk) keeps what the server acknowledges for a later server; without one, everything is in memory.
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
// signatures are not checked. Requests that a browser sends for a page of another site, or for a page whose name means
// this machine, are refused: Options.AllowHosts and AllowOrigins say what is allowed. SNS delivers over HTTP to this
// machine and to Options.AllowEndpoints. A request has at most 16 MiB, and two with more than 4 MiB are handled at the
// same time; docs/security.md has all bounds. A server created in a testing/synctest bubble uses the bubble's virtual
// time; a process can have many servers.
//
// A request works in the region that it is signed for, and for the account that its access key is, if that has twelve
// digits. Options.Region and Options.Account are those of other keys and of requests that are not signed, which work
// where the ARN or the queue URL is that they name. SQS, SNS and CloudWatch return the models of that default place,
// and In those of another. With Options.SingleRegion every request works in the region of the options. Policies decide
// about callers of other accounts; docs/compatibility.md has the rules between regions and accounts.
//
// For tests there are Control (fail, delay, drop or break any call, before or after it took effect), Advance (move the
// clock), SQS, SNS, S3 and CloudWatch (inspect without receiving, wait for a state, deliver twice or out of order),
// Calls (count requests), Options.Seed (repeat everything random) and Plant (create queues, topics, buckets and alarms
// from a file). Over HTTP there are, in addition to AWS's actions:
//
//	GET  /_localaws/health                  {"status":"ok"}
//	GET  /_localaws/queues                  every queue with its counts
//	GET  /_localaws/queues/NAME/messages    every message with typed attributes, group locks, duplicates
//	GET  /_localaws/queues/NAME/locks       more group locks than fit a page
//	GET  /_localaws/queues/NAME/duplicates  more of the deduplication table
//	GET  /_localaws/topics                  topics, subscriptions, failed deliveries
//	GET  /_localaws/failures                more failed deliveries
//	GET  /_localaws/unsent                  messages for email, sms, lambda, firehose and application
//	GET  /_localaws/metrics                 every metric; ?namespace= selects
//	GET  /_localaws/alarms                  every alarm with its state
//	GET  /_localaws/buckets                 every bucket with its counts
//	GET  /_localaws/buckets/NAME/objects    every object of a bucket; ?prefix= selects
//	POST /_localaws/advance?d=1h            moves the clock
//	POST /_localaws/reset                   empties the server; with ?seed=1 creates again what seed files describe
//	POST /_localaws/stop                    ends the process, if Options.Stop is set
//
// Every list comes in pages of 1,000 elements, or of ?limit=. The field next of a page is the parameter ?after= of the
// next one. Lists are of all accounts and regions; ?account= and ?region= select. A queue's NAME, or its ARN, is that
// of the default place if there is one, and otherwise the only one of this name.
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
// RedrivePolicy, SqsManagedSseEnabled, VisibilityTimeout. A queue's policy decides about deliveries of other services,
// a Deny in it about every call with the queue's URL, and its Allow about callers of other accounts; without a Deny, a
// caller of the queue's account may do everything. All callers of an account are one user. Messages are not encrypted;
// the attributes are stored and shown. A receive returns every available message at once, up to its limit; AWS may
// sample. Fairness between the groups of a standard queue is not modelled.
//
// Amazon SNS, in the query protocol:
//
//	AddPermission                 TopicArn, Label, AWSAccountId, ActionName
//	CheckIfPhoneNumberIsOptedOut  phoneNumber
//	ConfirmSubscription           TopicArn, Token, AuthenticateOnUnsubscribe
//	CreateTopic                   Name, Attributes, Tags, DataProtectionPolicy (refused unless empty)
//	DeleteTopic                   TopicArn
//	GetSubscriptionAttributes     SubscriptionArn
//	GetTopicAttributes            TopicArn
//	ListPhoneNumbersOptedOut      nextToken
//	ListSubscriptions             NextToken
//	ListSubscriptionsByTopic      TopicArn, NextToken
//	ListTagsForResource           ResourceArn
//	ListTopics                    NextToken
//	OptInPhoneNumber              phoneNumber
//	Publish                       TopicArn, TargetArn, PhoneNumber, Message, Subject, MessageStructure,
//	                              MessageAttributes, MessageDeduplicationId, MessageGroupId
//	PublishBatch                  TopicArn, PublishBatchRequestEntries
//	RemovePermission              TopicArn, Label
//	SetSubscriptionAttributes     SubscriptionArn, AttributeName, AttributeValue
//	SetTopicAttributes            TopicArn, AttributeName, AttributeValue
//	Subscribe                     TopicArn, Protocol, Endpoint, Attributes, ReturnSubscriptionArn
//	TagResource                   ResourceArn, Tags
//	UntagResource                 ResourceArn, TagKeys
//	Unsubscribe                   SubscriptionArn
//
// The server delivers to sqs, http and https. Subscriptions of the other protocols are accepted, email and email-json
// pending their confirmation; what their subscribers would get is listed under /_localaws/unsent.
//
// Amazon CloudWatch, in rpcv2Cbor, in awsJson 1.0 and in the query protocol:
//
//	DeleteAlarms                  AlarmNames
//	DescribeAlarms                AlarmNames, AlarmNamePrefix, AlarmTypes, ChildrenOfAlarmName and ParentsOfAlarmName
//	                              (refused), StateValue, ActionPrefix, MaxRecords, NextToken
//	DescribeAlarmsForMetric       MetricName, Namespace, Statistic, ExtendedStatistic, Dimensions, Period, Unit
//	DisableAlarmActions           AlarmNames
//	EnableAlarmActions            AlarmNames
//	GetMetricData                 MetricDataQueries, StartTime, EndTime, NextToken, ScanBy, MaxDatapoints,
//	                              LabelOptions
//	GetMetricStatistics           Namespace, MetricName, Dimensions, StartTime, EndTime, Period, Statistics,
//	                              ExtendedStatistics, Unit
//	ListMetrics                   Namespace, MetricName, Dimensions, NextToken, RecentlyActive, IncludeLinkedAccounts,
//	                              OwningAccount
//	ListTagsForResource           ResourceARN
//	PutMetricAlarm                AlarmName, AlarmDescription, ActionsEnabled, OKActions, AlarmActions,
//	                              InsufficientDataActions, MetricName, Namespace, Statistic, ExtendedStatistic,
//	                              Dimensions, Period, Unit, EvaluationPeriods, DatapointsToAlarm, Threshold,
//	                              ComparisonOperator, TreatMissingData, EvaluateLowSampleCountPercentile, Metrics,
//	                              Tags, ThresholdMetricId (refused)
//	PutMetricData                 Namespace, MetricData, EntityMetricData (the entity is not stored),
//	                              StrictEntityValidation
//	SetAlarmState                 AlarmName, StateValue, StateReason, StateReasonData
//	TagResource                   ResourceARN, Tags
//	UntagResource                 ResourceARN, TagKeys
//
// Samples are visible at once. Points are kept as long as AWS keeps them. Percentiles and trimmed statistics are
// computed from the values themselves, up to 4,096 different ones a point. Metric math has the arithmetic and logical
// operators and the functions ABS, AVG, CEIL, DIFF, EXP, FILL, FLOOR, IF, LOG, LOG10, MAX, METRICS, METRIC_COUNT, MIN,
// PERIOD, RATE, RUNNING_SUM, STDDEV, SUM and TIME_SERIES. Queries of Metrics Insights (SELECT) have every clause; they
// select by dimensions, not by tags or accounts. Alarms are evaluated at every whole minute of the server's clock, or
// at every ten seconds if their period is shorter than a minute, over a range of two periods more than they ask for.
// They publish to SNS topics; other actions are stored and logged. There are no composite alarms, no alarms on a query
// with GROUP BY, no anomaly detection (it is refused by name) and no queries in PromQL.
//
// Every minute the server reports AWS/SQS (by QueueName): NumberOfMessagesSent, NumberOfMessagesReceived,
// NumberOfMessagesDeleted, NumberOfEmptyReceives, SentMessageSize, ApproximateNumberOfMessagesVisible,
// ApproximateNumberOfMessagesNotVisible, ApproximateNumberOfMessagesDelayed, ApproximateAgeOfOldestMessage, and of FIFO
// queues NumberOfDeduplicatedSentMessages and ApproximateNumberOfGroupsWithInflightMessages; and AWS/SNS (by
// TopicName): NumberOfMessagesPublished, NumberOfNotificationsDelivered, NumberOfNotificationsFailed, PublishSize,
// NumberOfNotificationsFilteredOut with -NoMessageAttributes, -MessageAttributes and -MessageBody,
// NumberOfNotificationsRedrivenToDlq and NumberOfNotificationsFailedToRedriveToDlq. They have AWS's gaps: six hours
// after the last call of any kind, a topic and an empty queue have no points. NotVisible, Delayed, Age, sizes and
// deliveries that were filtered out or redriven have points only while there is something to count. What a redrive
// policy moves is not counted as sent. A message of a standard queue that was received three times does not count for
// the age.
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
//	DeleteBucketCors                    Bucket
//	DeleteBucketEncryption              Bucket
//	DeleteBucketLifecycle               Bucket
//	DeleteBucketOwnershipControls       Bucket
//	DeleteBucketPolicy                  Bucket
//	DeleteBucketTagging                 Bucket
//	DeleteBucketWebsite                 Bucket
//	DeleteObject                        Bucket, IfMatch, Key, VersionId
//	DeleteObjectTagging                 Bucket, Key, VersionId
//	DeleteObjects                       Bucket, Delete
//	DeletePublicAccessBlock             Bucket
//	GetBucketAbac                       Bucket
//	GetBucketAccelerateConfiguration    Bucket
//	GetBucketAcl                        Bucket
//	GetBucketCors                       Bucket
//	GetBucketEncryption                 Bucket
//	GetBucketLifecycleConfiguration     Bucket
//	GetBucketLocation                   Bucket
//	GetBucketLogging                    Bucket
//	GetBucketMetadataConfiguration      Bucket
//	GetBucketMetadataTableConfiguration Bucket
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
//	GetObjectAttributes                 Bucket, Key, MaxParts, ObjectAttributes, PartNumberMarker,
//	                                    SSECustomerAlgorithm, SSECustomerKey, SSECustomerKeyMD5, VersionId
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
//	PutBucketAcl                        ACL, AccessControlPolicy (refused), Bucket
//	PutBucketCors                       Bucket, CORSConfiguration
//	PutBucketEncryption                 Bucket, ServerSideEncryptionConfiguration
//	PutBucketLifecycleConfiguration     Bucket, LifecycleConfiguration, TransitionDefaultMinimumObjectSize
//	PutBucketLogging                    Bucket, BucketLoggingStatus
//	PutBucketNotificationConfiguration  Bucket, NotificationConfiguration, SkipDestinationValidation
//	PutBucketOwnershipControls          Bucket, OwnershipControls
//	PutBucketPolicy                     Bucket, ConfirmRemoveSelfBucketAccess, Policy
//	PutBucketTagging                    Bucket, Tagging
//	PutBucketWebsite                    Bucket, WebsiteConfiguration
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
// Amazon S3 Control, in REST-XML, for buckets only:
//
//	ListTagsForResource                 AccountId, ResourceArn
//	TagResource                         AccountId, ResourceArn, TagResourceRequest
//	UntagResource                       AccountId, ResourceArn, TagKeys
//
// Checksums are CRC32, CRC32C, CRC64NVME, SHA1 and SHA256. Of an object without one, the checksum is CRC64NVME. A
// bucket has no versions, so VersionId may only be null. Of a lifecycle, expiration by days or date and the abortion of
// uploads act, at midnight UTC. Notifications go to queues and topics, for ObjectCreated, ObjectRemoved,
// LifecycleExpiration and ObjectTagging. A bucket's policy is stored and shown. So are canned ACLs, rules of CORS,
// logging, websites and transitions of lifecycles, of which the log says once that they do not act. The bucket is in
// the path, or in the host: before a label s3, below localhost and localaws, or as an existing bucket's name in front
// of any other host. Presigned URLs expire on the server's clock.
package localaws
