// Package later is how messages wait for longer than SQS keeps a delay, or on channels whose messages it does not delay
// one by one. Its nouns are the parking, which sends such messages to a queue beside their channel (orders@later); and
// the waker, which receives from that queue, hides what is not due until then, and sends on what is due; and the
// arbiter, which decides whether a message was cancelled before. Between the last second before its time and its send,
// a message is held in memory.
package later
