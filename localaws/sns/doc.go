// Package sns is Amazon SNS on this machine: its model, and its actions, in the file of their noun.
//
// Its nouns: messages are published to a topic; a FIFO topic orders and de-duplicates them. A subscription delivers a
// topic's messages to an endpoint: an SQS queue, or an http or https URL. Its settings say how, and its filter policy
// says which messages. A message is what a client published; a notification is a message during its delivery. An
// envelope is the JSON around the message if delivery is not raw; the signer signs it. The recipients are a topic with
// its subscriptions at the beginning of a publish. A failure is a delivery that finally failed; its message goes to the
// subscription's dead-letter queue, if there is one. The registry holds topics and subscriptions, the sender delivers
// to them, and [Service] is both for one account in one region. The [Carrier], which services of several regions share,
// makes the deliveries over HTTP, and keeps failures.
//
// Publish delivers to queues before it answers: then the message is in every queue whose policy allows the topic.
// Deliveries over HTTP run in goroutines of the carrier, with retries by delivery policy and the server's clock; Close
// of the carrier ends them and waits for them.
//
// # Actions
//
// AddPermission, CheckIfPhoneNumberIsOptedOut, ConfirmSubscription, CreateTopic, DeleteTopic,
// GetSubscriptionAttributes, GetTopicAttributes, ListPhoneNumbersOptedOut, ListSubscriptions, ListSubscriptionsByTopic,
// ListTagsForResource, ListTopics, OptInPhoneNumber, Publish, PublishBatch, RemovePermission,
// SetSubscriptionAttributes, SetTopicAttributes, Subscribe, TagResource, Unsubscribe, UntagResource: all with all their
// parameters, except as follows.
//
//   - Subscribe takes every protocol, and delivers to sqs, http and https only. What the others would have got is
//     kept as unsent, as is what is published to a phone number. There are no mobile endpoints.
//   - Topic attributes: Policy (stored, shown, changed by permissions; it decides about other services and other
//     accounts), DisplayName, DeliveryPolicy, KmsMasterKeyId (stored; nothing is encrypted), SignatureVersion,
//     TracingConfig (stored), MaximumMessageSize, FifoTopic, ContentBasedDeduplication, FifoThroughputScope, and the
//     delivery status attributes (stored; nothing is logged). ArchivePolicy and DataProtectionPolicy are refused.
//   - Subscription attributes: RawMessageDelivery, FilterPolicy, FilterPolicyScope, RedrivePolicy, for http and https
//     DeliveryPolicy, and for firehose SubscriptionRoleArn. ReplayPolicy is refused.
//   - A changed filter policy applies at once; on AWS this may take fifteen minutes.
package sns
