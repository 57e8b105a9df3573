// Package compose makes the messages that godwit send sends.
//
// Its nouns: a [Source] returns one message after another. [Repeat] makes a source of one message, with numbers and
// times in it, and [Lines] one of a file with a message in each line.
package compose
