// Package bench measures Godwit, and later other libraries beside it, with the same work on the same machine.
//
// Its nouns: a journey is the whole way of a message, from Send to the handler's end and the delete, over the embedded server
// in this process, so that the figure is the library's and the SDK's own cost and no network's.
//
// It is a module of its own: what it compares with never reaches those who use Godwit.
package bench
