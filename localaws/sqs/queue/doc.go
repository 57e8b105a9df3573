// Package queue is the model of one SQS queue, apart from its wire, its
// attributes' texts and its permissions.
//
// Nouns: a Queue holds messages; a Message is what was sent and never changes;
// an item is a message's place in a queue: ready, delayed or in flight; a group
// is the line of a FIFO queue's messages of one MessageGroupId; a handle is what
// a receiver shows to delete a message or change its visibility; a waiter is a
// poll that waits.
//
// Every operation costs at most the logarithm of what is queued. A queue has no
// goroutine and at most one timer, for the next end of a delay or a visibility
// timeout, and that only while somebody waits for it; otherwise time is caught
// up with at the next operation.
//
// Times inside are durations since the clock's start. A Queue is safe for
// concurrent use. Its mutex is never held while another queue's is taken.
package queue
