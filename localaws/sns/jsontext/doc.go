// Package jsontext reads JSON one token at a time, and reports errors in the words of Amazon SNS.
//
// Its nouns: a [Token] has a kind, a text and a position. A [Reader] returns the tokens of one text in order. An
// [Error] is the reason why a text is not JSON. [Compact] rewrites a text without white space.
//
// SNS returns the error texts of its own parser to clients, including positions, and programs compare them. The texts
// of the standard library differ, and its decoder allocates for every token, which filter policies on message bodies
// cannot afford.
package jsontext
