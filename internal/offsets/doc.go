// Package offsets tracks what of one Kafka partition is finished, when its records finish in any order.
//
// Its nouns: a [Tracker] holds a ring of slots, one a record in the order of arrival (offsets have gaps); the watermark is the
// oldest unfinished record, and what a [Commit] says; completions are records finished beyond the watermark, which travel in the
// commit's metadata so that after a crash they are not handled again; attempts are starts of unfinished records that had failed,
// and travel there too while there is room; a price is what a stretch of the log costs at most to encode.
//
// The metadata is ASCII, versioned, at most 4,096 characters, and has a checksum over the committed offset and the log's
// identity as well. What is odd in any way is ignored: a duplicate beats a loss. So that completions always have room, a
// record is admitted only while the prices of all stretches together stay below what the metadata can hold, and no order of
// finishing can raise that sum.
//
// Nothing here locks, waits or does I/O: the caller of a Tracker does.
package offsets
