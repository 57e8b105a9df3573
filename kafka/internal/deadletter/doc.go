// Package deadletter writes and reads dead letters on Kafka.
//
// Its nouns: a [Copy] of a rejected record has headers for the record's origin and the reason of the rejection, with
// the names that brokers use (KIP-1191). A dialect is the headers of one kind of writer; [OriginOf] reads all of them.
// A [Log] is a topic of dead letters, which tells after a restart what was rejected before.
package deadletter
