// Package share receives from a channel as a share group (KIP-932): brokers deliver single records, each under a lock
// that ends, and count the deliveries. Nothing is ordered.
//
// Its nouns: a [Receiver] is a driver.Receiver; its member keeps the membership of the group and knows which broker
// leads which partition; a session is the exchange of requests with one broker; a run is the records of one partition
// that one answer brought; a lock is one of these records, until its acknowledgement is answered or the lock is lost;
// an ack is what the broker is told about a lock; the budget decides how many records a session requests; the queue
// holds deliveries until a Receive takes them.
//
// The requests are the package's own, because franz-go's share client accepts with each poll whatever is unsettled of
// the poll before (docs/decisions/0064-share-groups-are-spoken-directly.md).
//
// Retries and delays wait in the channel's tiers, which a group of the classic kind reads, because a broker counts a
// delivery also if the record is not due.
package share
