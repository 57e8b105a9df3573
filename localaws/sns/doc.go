// Package sns is Amazon SNS on this machine: its model, and its actions, a file each.
//
// A topic is what messages are published to; a FIFO topic has a line, which orders and de-duplicates. A
// subscription carries a topic's messages to an endpoint: an SQS queue, or an http or https URL; its
// settings say how, and its filter policy which. A message is what a client published; a notification is
// that message on its way; an envelope is the JSON around it where delivery is not raw, signed by the signer.
// An audience is a topic with its subscriptions as a publish found them. A failure is a delivery that
// came to nothing; the message goes to the subscription's dead-letter queue or is lost. Service holds it all.
//
// Deliveries to queues happen within Publish: when it answers, the message lies in every queue whose policy
// lets the topic in. Deliveries over HTTP happen in goroutines of the service's own, retried by delivery
// policy on the server's clock; Close ends and awaits them.
//
// # Actions
//
// AddPermission, ConfirmSubscription, CreateTopic, DeleteTopic, GetSubscriptionAttributes, GetTopicAttributes,
// ListSubscriptions, ListSubscriptionsByTopic, ListTagsForResource, ListTopics, Publish, PublishBatch,
// RemovePermission, SetSubscriptionAttributes, SetTopicAttributes, Subscribe, TagResource, Unsubscribe,
// UntagResource: all with all their parameters, except as follows.
//
//   - Subscribe takes the protocols sqs, http and https. Publish takes topics, no phone numbers and no
//     mobile endpoints.
//   - Topic attributes: Policy (kept, shown, changed by permissions; every caller is the owner), DisplayName,
//     DeliveryPolicy, KmsMasterKeyId (kept; nothing is encrypted), SignatureVersion, TracingConfig (kept),
//     MaximumMessageSize, FifoTopic, ContentBasedDeduplication, FifoThroughputScope, and the delivery status
//     attributes (kept; nothing is logged). ArchivePolicy and DataProtectionPolicy are refused.
//   - Subscription attributes: RawMessageDelivery, FilterPolicy, FilterPolicyScope, RedrivePolicy and, for http
//     and https, DeliveryPolicy. ReplayPolicy and SubscriptionRoleArn are refused.
//   - A changed filter policy holds at once; on AWS it may take fifteen minutes.
package sns
