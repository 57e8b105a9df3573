// Package kafka is the backend on Apache Kafka, with franz-go.
//
// Its nouns: a [Backend] opens senders and receivers; a name maps a channel to a topic and a consumer group, one to one; an
// epoch is one assignment of a partition, from assigned to revoked, and is the seam's Source; a tracker (internal/offsets)
// knows which records of an epoch are finished; a commit tells the broker the first unfinished offset and, in its metadata,
// what is finished beyond it; a tier is a topic in which records wait until they are due; dead letters are a topic too.
//
// Channel orders: topic orders, group orders, dead letters orders.orders.dlq, tiers orders.orders.retry.1m. Channel
// wishlist_events.mobile: topic wishlist_events, group wishlist_events.mobile. With a namespace: prod.orders.
//
// Records of one partition are handled concurrently, those of one key in order. What is published on a record's behalf (a
// dead letter, a retry that waits in a tier) is published before the record counts as finished.
//
// franz-go alone repeats sends; the core repeats nothing that goes to Kafka but settles.
package kafka
