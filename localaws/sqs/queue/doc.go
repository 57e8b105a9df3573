// Package queue is the model of one SQS queue, without its wire format, the texts of its attributes and its
// permissions.
//
// Its nouns: a [Queue] holds messages. A [Message] is what was sent, and never changes. An item is a message's state in
// a queue: visible, delayed or in flight. The contents of a queue are its items by state, and its waiting polls. A
// group holds the messages of one MessageGroupId of a FIFO queue, in order. A handle is what a receiver presents to
// delete a message or change its visibility. A waiter is a poll that waits. A [Journal] is where a queue writes the
// records of its messages; [Kept] is what an earlier queue has written there. An epoch is the number of the server's
// start with this journal: a receive whose record was lost belongs to an earlier epoch, so that its handle settles
// nothing.
//
// Every operation costs at most the logarithm of the number of queued messages. A queue has no goroutine and at most
// one timer, for the next end of a delay or a visibility timeout, and only while a poll waits for it; otherwise the
// next operation applies what time has changed.
//
// Internal times are durations since the clock's start. A Queue is safe for concurrent use. Its mutex is never held
// while another queue's is taken.
package queue
