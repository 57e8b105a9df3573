// Package kafka is the backend on Apache Kafka, with franz-go.
//
//	backend, err := kafka.Open(ctx, &kafka.Options{Brokers: []string{"broker-1:9092", "broker-2:9092"}})
//	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Ordered: true})
//
// Package local/kafkalocal is the same backend on an embedded broker.
//
// # Names
//
//   - The channel orders is the topic orders, which the group orders reads. Its dead letters are in orders.orders.dlq,
//     and its tiers are orders.orders.retry.1m and so on.
//   - The channel wishlist_events.mobile is read from the topic wishlist_events, by the group wishlist_events.mobile.
//
// Options.Namespace is put before each of these names: prod.orders. Options.Names maps a channel to a topic, a group
// and dead letters of other names, which exist and which Godwit does not change. [Start] says where a group without a
// commit begins; a commit of any other client is the position at which Godwit goes on.
//
// # Order
//
// Records of one partition are handled concurrently, and the records of one key in order: a slow key does not delay
// other keys. The committed offset never passes an unfinished record, so a crash loses no record. [Ordering] selects
// order by partition instead, or no order. Without order, a share group (GroupShare) lets more consumers than
// partitions read a topic.
//
// # Retries and dead letters
//
// [Retries] decides what a retry means for the later records of its key. By default the process holds the record, and
// the key waits. With RetryPark the record waits in a tier, which is a topic, and the later records of its key wait
// behind it. With RetryAlone the later records are handled meanwhile.
//
// Dead letters are in a topic, too. Package ops sends them back when their cause has been removed ([Backend.Return]). A
// copy in a tier or in the dead letters is published before its original counts as finished, so a crash in between
// loses nothing.
//
// # Transactions
//
// With godwit.Transform, records are read, handled, and sent on exactly once. The messages that result from a record,
// its copies in tiers and dead letters, and its completion are in one transaction. Consumers of the results must read
// committed records only, as those of this package do. A transaction begins 100 ms after the last one, or when 1,000
// results are there; Options.CommitInterval and Options.CommitRecords change that. The brokers need
// transaction.version 2 (Kafka 4.0 or later) and offset.metadata.max.bytes of at least 4,096. With ACLs, allow Write
// and Describe for transactional ids that begin with the name that the channel's group has without Options.Names, and
// ".transform.".
//
// # Inside
//
// A [Backend] opens senders and receivers. A name maps a channel to a topic and a consumer group, one to one, or
// Options.Names do (internal/layout, resource.go). A member is one client in the group. An epoch is one assignment of a
// partition to a member, from assignment to revocation; the driver calls it a source. A message is an admitted record;
// it has one stage at a time, and the ledger decides its next stage (internal/records). A tracker (internal/offsets)
// knows which records of an epoch are finished. A commit stores the first unfinished offset, and in its metadata the
// finished records after that offset. A lot keeps the order of a key while a record of the key waits in a tier
// (internal/parking). A lane counts the waiting messages of one key while their partition is strained. The formats of
// dead letters are in internal/deadletter. A result is what a transaction publishes together with the completion of its
// message; the transactor makes the transactions.
//
// Only franz-go repeats sends. The core repeats nothing that it sends to Kafka, except settlements.
package kafka
