// Package random is where everything random of a server comes from, so that one
// seed fixes it all.
//
// Nouns: a Source gives numbers and identifiers; two sources of one seed give
// the same ones in the same order.
package random
