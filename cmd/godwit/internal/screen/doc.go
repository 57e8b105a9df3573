// Package screen prints what commands have to say.
//
// Its nouns: an [Output] is the form of a result, a [Table] the form for people, a [Progress] tells how far long work
// is, and a [Writer] is what everything is printed to, because it escapes what could control a terminal.
package screen
