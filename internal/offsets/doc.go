// Package offsets tracks which records of one Kafka partition are finished, when records finish in any order.
//
// Its nouns: a [Tracker] has a window of the records from the oldest unfinished one on, in a ring of slots, one per
// record in order of arrival (offsets have gaps). The watermark is the oldest unfinished record; a [Commit] stores it.
// Completions are records that finished beyond the watermark; they are stored in the commit's metadata, so that they
// are not handled again after a crash. Attempts are the attempts of unfinished records that have failed; they are
// stored there, too, while there is room. A stretch is a range of offsets that are all finished, or all unfinished. A
// block says that all records of a key are unfinished from an offset on, so that they need no stretches. A mark is a
// number of the caller in every commit. A price is the most that a stretch can cost to encode.
//
// The metadata is ASCII text with a version, at most 4,096 characters, and has a checksum that covers the committed
// offset and the log's identity as well. Every commit has it, so that a commit of another program is recognized.
// Metadata that is invalid in any way is ignored, because a duplicate is better than a loss. So that completions always
// have room, a record is admitted only while the sum of the prices of all stretches is below what the metadata can
// hold; no order of finishing can raise that sum.
//
// Nothing in this package locks, waits or does I/O; the caller of a Tracker does.
package offsets
