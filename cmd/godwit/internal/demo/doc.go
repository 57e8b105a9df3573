// Package demo is what `godwit demo` runs: it sends wishes to one ordered exchange of the embedded server, and three
// consumers with different filters handle them. Some handlers fail and are retried; some wishes can never be handled
// and become dead letters.
//
// Its nouns: a wish is a message. A branch is one consumer's channel of the exchange, with its filter and its ledger. A
// fate is how often a wish fails on a branch; it is derived from the seed, so that two runs with one seed fail in the
// same way. A ledger records what happened to each wish on its branch, by the wish's number. The tally counts requests
// by channel. A [Report] is the sum of all of these, and progress shows it while it grows.
package demo
