// Package kafka is the backend on Apache Kafka, with franz-go.
//
//	backend, err := kafka.Open(ctx, &kafka.Options{Brokers: []string{"broker-1:9092", "broker-2:9092"}})
//	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Ordered: true})
//
// Package local/kafkalocal is the same backend on an embedded broker.
//
// # Names
//
//   - orders is the topic orders, read by the group orders. Its dead letters are in orders.orders.dlq, and its tiers
//     are orders.orders.retry.1m and the like.
//   - wishlist_events.mobile is read from the topic wishlist_events, by the group wishlist_events.mobile.
//
// Options.Namespace stands in front of all of them: prod.orders.
//
// # Order
//
// Records of one partition are handled concurrently, and those of one key in order: one slow key holds up no other. The
// committed offset never passes a record that is not finished, so a crash loses none. [Ordering] chooses order by
// partition instead, or none; with none, a share group (GroupShare) lets more consumers than partitions share a topic.
//
// # Retries and dead letters
//
// With [Retries] a channel chooses what a retry means for the later records of its key. By default the process holds
// the record, and the key waits. RetryPark lets the record wait in a tier, which is a topic, and the later records of
// its key behind it. RetryAlone lets the later ones continue.
//
// Dead letters are a topic, too. [Backend.Redrive] moves them back when the cause has been removed. A dead letter, and
// a record that waits in a tier, is published before its original counts as finished.
//
// # Inside
//
// A [Backend] opens senders and receivers. A name maps a channel to a topic and a consumer group, one to one
// (internal/layout). A member is one client in the group; an epoch is one assignment of a partition to it, from
// assigned to revoked, and is the seam's Source. A message is a record that was admitted; it has one stage at a time
// (lifecycle.go), and the ledger decides what becomes of it. A tracker (internal/offsets) knows which records of an
// epoch are finished; a commit tells the broker the first unfinished offset and, in its metadata, what is finished
// beyond it. A lot keeps the order of a key while its record waits in a tier (internal/parking). A lane counts what
// waits of one key while its partition is strained (lane.go). The dialects of dead letters are in internal/deadletter.
//
// franz-go alone repeats sends; the core repeats nothing that goes to Kafka but settles.
package kafka
