// Package demo is the job that `godwit demo` shows: orders are sent and handled on the embedded server, some fail and are
// tried again, some can never succeed and end as dead letters.
//
// Its nouns: a fate is what awaits an order, drawn from the seed, so that two runs of one seed fail alike; the ledger
// knows what became of each order, by its number and never by a count; a [Report] is the ledger's sum; progress shows the ledger
// while it fills.
package demo
