// Package share receives from a channel as a share group (KIP-932): brokers hand single records out, each under a lock
// that ends, and count how often. Nothing is ordered.
//
// Its nouns: a [Receiver] is a driver.Receiver with several members; a member is one client in the group, with the
// records of its last poll; a record is handed out, acknowledged (accepted, or released) and lost when its lock ends;
// the queue holds what the members have brought until a Receive takes it.
//
// Retries and delays wait in the channel's tiers, which a group of the classic kind reads: a broker that hands out what
// is not due would count that.
package share
