// Package jsontext reads JSON one token at a time and says what is wrong with it in the words that Amazon
// SNS uses.
//
// Token is one token: its kind, its text and where it ends. Reader gives the tokens of one text in order.
// Error is the reason why a text is not JSON. Compact writes a text again without white space.
//
// SNS passes its parser's own sentences on to clients, positions included, and programs compare them; the
// standard library's sentences differ, and its decoder allocates for every token, which filter policies on
// message bodies cannot afford.
package jsontext
