// Package kafka is the backend on Apache Kafka, with franz-go.
//
// Its nouns: a [Backend] opens senders and receivers. A name maps a channel to a topic and a consumer group, one to one
// (internal/layout). A member is one client in the group; an epoch is one assignment of a partition to it, from
// assigned to revoked, and is the seam's Source. A message is a record that was admitted; it has one stage at a time
// (lifecycle.go), and the ledger decides what becomes of it. A tracker (internal/offsets) knows which records of an
// epoch are finished; a commit tells the broker the first unfinished offset and, in its metadata, what is finished
// beyond it. A tier is a topic in which records wait until they are due; a lot keeps the order of a key meanwhile
// (internal/parking). A lane counts what waits of one key while its partition is strained (lane.go). Dead letters are a
// topic too (internal/deadletter).
//
// Channel orders: topic orders, group orders, dead letters orders.orders.dlq, tiers orders.orders.retry.1m. Channel
// wishlist_events.mobile: topic wishlist_events, group wishlist_events.mobile. With a namespace: prod.orders.
//
// Records of one partition are handled concurrently, those of one key in order. A dead letter, and a retry that waits
// in a tier, is published before its record counts as finished.
//
// franz-go alone repeats sends; the core repeats nothing that goes to Kafka but settles.
package kafka
