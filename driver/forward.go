package driver

import (
	"context"
	"time"
)

// Raw is a message as the service carries it: with the types of its headers, the history in its envelope, and the
// pointer instead of a body that is in a [Store]. So a message can be kept in a file and sent on without a change.
// [Receiver].As returns that of a delivery. It shares memory with the delivery, and is not to be changed.
type Raw struct {
	// Format names the service's format, such as "sqs" or "kafka". A backend refuses raw messages of another format.
	Format string
	Body   []byte
	Key    []byte      // the message group of SQS, the key of a record of Kafka; nil: none
	Header []RawHeader // in the order of the service; on Kafka a name may repeat
	Trace  string      // a trace header that the service carries beside the others (AWSTraceHeader); "": none
}

// RawHeader is a header of a raw message.
type RawHeader struct {
	Name  string
	Type  string // the service's name of the type, such as String or Number.int; "": the service has no types
	Value []byte // nil: the header has no value, which is not an empty one
}

// Forwarder is a Sender that also takes raw messages.
type Forwarder interface {
	Sender

	// Forward encodes a raw message for Send, as Prepare does with a new one. Where the service removes duplicates, the
	// id for that derives from f.ID, so that a message that is forwarded twice is accepted once. If the body is in a
	// [Store], the message points to the same object, except if that would not last: then the object is copied. The
	// caller finishes the original with [Settlement].KeepBody. A trace header is left out where the service takes none
	// from a sender, as a topic of SNS, which forwards none. Everything else arrives, or the error says why not.
	Forward(ctx context.Context, f *Forward) (Prepared, error)
}

// Forward is a raw message with what a Forwarder should change.
type Forward struct {
	Raw Raw
	ID  string // of the original message
	// Revive: the message is a dead letter, and goes back to be handled again. What its rejection added or moved is
	// undone, except for the history of deaths.
	Revive bool
	// Edited: Body replaces the body, and everything else stays. Body is what a consumer should get as its body, not
	// what the service carries.
	Edited bool
	Body   []byte
	// First is the Delivery.First of the original. The copy carries it if the raw message does not say it already, and
	// expires or has an envelope. Renew: the copy does not carry it, so its expiry begins with this send.
	First time.Time
	Renew bool
}

// Home is where dead letters go back to.
type Home struct {
	Forwarder Forwarder
	Address   string // the service's name of the channel's own queue or log
	// Shared: consumers of other channels get the messages again, too.
	Shared bool
}

// MoveTask is a task of [Operations].Move.
type MoveTask struct {
	ID      string // "": only running tasks have one
	Status  string // in the service's words
	Running bool
	Moved   int64
	Total   int64  // messages that there were at the beginning; approximate
	Failure string // why the task failed, in the service's words; "": it did not
}
