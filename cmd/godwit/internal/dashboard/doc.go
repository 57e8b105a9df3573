// Package dashboard shows channels on a terminal, as they change: `godwit top`.
//
// Its nouns: a [Dashboard] has the rows of the last view, what is selected, and what is asked; a row is a channel with
// its dead letters. [Run] draws it, and gives it keys, views and answers, all in one goroutine.
package dashboard
