// Package parking keeps the order of a key while one of its messages waits for a retry in a topic of its own.
//
// Its nouns: a lot holds what is parked of one key, each message in its spot, in the order of the log; only the first
// may be handled. A spot whose message waits in a tier is away. A message's [Standing] is where it stands in its lot. A
// barrier holds a partition back until what waited in its tiers is read: before that, what stands first of a key is not
// known.
//
// A lot is the memory of the retry mode RetryPark. After a restart it is filled again from the tiers, before anything
// of the channel's own partition is admitted. Nothing in here locks, waits or calls Kafka.
package parking
