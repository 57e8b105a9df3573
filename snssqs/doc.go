// Package snssqs is the backend on Amazon SNS and SQS, with the AWS SDK for Go v2.
//
// Its nouns: a [Backend] opens senders and receivers; a name maps a channel to a queue or a topic, one to one; an
// envelope travels in one attribute beside the user's bytes; a poll receives under a lease (SQS's visibility
// timeout); a settle deletes, changes visibility, or copies to the dead letters and then deletes.
//
// Queue of orders: orders; its dead letters: orders--dlq. Topic of wishlist_events.*: wishlist_events; queue of
// wishlist_events.audit_log: wishlist_events--audit_log. Ordered ones end in .fifo. With a namespace:
// prod---orders.
//
// The SDK's own retries are off for everything that the core repeats, also on the caller's clients: two layers that
// repeat multiply.
package snssqs
