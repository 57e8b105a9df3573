// Package parking keeps the order of a key while one of its messages waits for a retry in a topic of its own.
//
// Its nouns: a lot has the parked messages of one key, each in its spot, in the order of the log. Only the first of
// them may be handled. A spot is away while its message waits in a tier. A message's [Standing] is its position in its
// lot. A barrier blocks a partition until the records in its tiers are read: before that, the first message of a key is
// not known.
//
// Lots are the memory of RetryPark. After a restart they are filled from the tiers again, before any record of the
// channel's own partition is admitted. Nothing in this package locks, waits or calls Kafka.
package parking
