// Package screen prints what commands have to say.
//
// Its nouns: an [Output] is the form of a result, a [Table] the form for people, and a [Writer] what everything is
// printed to, because it escapes what could control a terminal.
package screen
