// Package snssqs is the backend on Amazon SNS and SQS, with the AWS SDK for Go v2.
//
//	backend, err := snssqs.Open(ctx, nil) // region and credentials as AWS's own tools find them
//	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
//
// Package local is the same backend on an embedded server.
//
// # Names
//
// The queue of orders is named orders, and that of its dead letters orders--dlq. The topic of wishlist_events.* is
// named wishlist_events, and the queue of wishlist_events.audit_log is named wishlist_events--audit_log. Names of
// ordered channels end in .fifo, because they are FIFO queues and FIFO topics. Options.Namespace stands in front:
// prod---orders.
//
// A [Resource] in Options.Names maps a channel to a queue or topic that exists, whatever its name. Godwit uses such a
// resource and never changes it.
//
// # Provisioning
//
// A consumer creates its queue, the dead letters, and for an exchange the topic, the subscription and the policies. A
// producer creates what it sends to, if it is missing. In the mode godwit.ProvisionVerify the same calls only compare,
// and in godwit.ProvisionNever there are none. docs/backends.md lists the permissions that remain.
//
// # Limits
//
// SQS keeps a message for at most 14 days, delays one for at most 15 minutes, and keeps a retry for at most 12 hours.
// Shorter retries of ordered channels are held by the consumer. A message may be as large as the queue takes, usually 1
// MiB, or as the topic takes, usually 256 KiB; with Options.Store larger bodies travel through S3, see
// docs/large-messages.md. A consumer of a standard queue that stops waits for its open poll, for up to 20 s, because
// AWS may lose what a canceled poll was about to return.
//
// # Inside
//
// A [Backend] opens senders and receivers. A name maps a channel to a queue or a topic, one to one. An envelope travels
// in one message attribute beside the user's bytes. A pointer travels instead of a large body. A poll receives messages
// under a lease, which is SQS's visibility timeout. A settlement deletes a message, changes its visibility, or copies
// it to the dead letters and then deletes it.
//
// Rooms below internal do the work, and none of them knows the backend. Package client makes calls; trust and wire are
// the form of messages; estate finds and creates queues and topics; operate is what an operator does with them.
//
// The SDK's own retries are turned off for every call that the core repeats, also on the caller's clients, because the
// numbers of two retrying layers multiply.
package snssqs
