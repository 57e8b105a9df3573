// Package send publishes records. [Senders] open a [Sender] to a topic: the sending end of a channel, which also
// forwards records as they are. A [Producer] waits for the answer to each record. Large bodies are in a store, with a
// pointer in their record; [Point] is the way back.
package send
