// Package random is the source of everything random in a server, so that one seed determines all of it.
//
// Its noun: a [Source] returns numbers and identifiers; two sources with the same seed return the same ones in the same
// order.
package random
