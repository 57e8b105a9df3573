// Package selection reads which messages an operator wants.
//
// Its nouns: [Words] are what the operator says, as flags of commands or otherwise; a [Span] is a duration, which may
// be in days.
package selection
