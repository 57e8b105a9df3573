// Package records decides what becomes of the records of a channel, from the poll that brings a record to the commit
// that passes it. It makes no request, and knows no client.
//
// An [Epoch] is one assignment of a partition to a [Member], from assignment to revocation or loss. A [Message] is an
// admitted record; it has one stage at a time (lifecycle.go). The [Ledger] decides its next stage, under one lock. A
// [Round] is one admission of records. [Rules] are what the ledger knows of its channel. A lot keeps the order of a key
// while a message of the key waits in a tier (package parking); a lane counts the waiting messages of one key while
// their partition is strained (lane.go), and [Rereads] are the records that lanes have forgotten. A [Copy] is published
// before its message counts as settled. A [Commitment] is one commit. [Results] are what waits for a transaction.
package records
