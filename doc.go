// Package godwit is reliable asynchronous messaging: jobs and events over Amazon SNS and SQS or Apache Kafka, and over
// embedded servers of both that need nothing installed.
//
// Its nouns: a [Producer] sends a [Message] to a channel; a [Consumer] runs a [Handler] for each [Delivery] that
// comes. What the handler returns goes through a [Policy], whose [Verdict] says what becomes of the delivery: done,
// tried again, moved to the channel's dead letters. Around that the consumer keeps leases, order, retries, limits and
// shutdown right; [Hooks] observe it, a [Middleware] changes it, [State], [Health] and [Report] tell how it went.
//
// Channels are spelled
//
//	orders                      one-to-one: a queue
//	wishlist_events.audit_log   one-to-many: one consumer's queue of the exchange wishlist_events
//	wishlist_events.*           all queues of the exchange; what a producer sends to
//	orders@dlq                  the dead letters of orders
//
// A backend carries the messages: package snssqs (AWS) or kafka; local and local/kafkalocal are the same on an embedded
// server. Bodies travel in the message: claim checks in S3 are not there yet. The options of every constructor may be
// nil, and their zero values are the documented defaults. Everything exported is safe for concurrent use unless it says
// otherwise.
package godwit
