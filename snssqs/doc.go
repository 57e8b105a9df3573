// Package snssqs is the backend on Amazon SNS and SQS, with the AWS SDK for Go v2.
//
// Its nouns: a [Backend] opens senders and receivers. A name maps a channel to a queue or a topic, one to one. An
// envelope travels in one message attribute beside the user's bytes. A poll receives messages under a lease, which is
// SQS's visibility timeout. A settlement deletes a message, changes its visibility, or copies it to the dead letters
// and then deletes it.
//
// The queue of orders is named orders, and that of its dead letters orders--dlq. The topic of wishlist_events.* is
// named wishlist_events, and the queue of wishlist_events.audit_log is named wishlist_events--audit_log. Names of
// ordered channels end in .fifo. A namespace stands in front: prod---orders.
//
// The SDK's own retries are turned off for every call that the core repeats, also on the caller's clients, because the
// numbers of two retrying layers multiply.
package snssqs
