// Package demo is the job that `godwit demo` shows: wishes are sent to one ordered exchange of the embedded server, three
// consumers with different filters handle them, some handlers fail and are tried again, some wishes can never be handled
// and end as dead letters.
//
// Its nouns: a wish is what is sent; a branch is one consumer's channel of the exchange, with its filter and its ledger; a
// fate is what awaits a wish on a branch, drawn from the seed, so that two runs of one seed fail alike; a ledger knows what
// became of each wish on its branch, by its number and never by a count; the tally counts requests by channel; a [Report]
// is the sum of all; progress shows it while it grows.
package demo
