// Package deadletter is how dead letters are written and read on Kafka.
//
// Its nouns: a [Copy] of a rejected record tells where the record was and why it was rejected, in headers named as
// those of brokers (KIP-1191); a dialect is how one kind of writer spells that; [OriginOf] reads any of them.
package deadletter
