// Package pending keeps what was handed to somebody else until it is answered, and gives it up when its time is over.
//
// A List has entries in the order of their deadlines, and one timer. An Entry is a part of each value, so that the list
// needs no memory of its own.
package pending
