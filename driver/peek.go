package driver

import (
	"context"
	"time"
)

// Peeker is a Backend that reads messages of a channel without receiving them: no lease, no attempt, no commit.
type Peeker interface {
	// Peek returns at most max messages, in the order of the channel as far as it has one, of each partition as far as
	// there are several. Messages that a consumer holds may be among them. An empty result means that there are no
	// messages at or behind that position. An error that wraps [errors.ErrUnsupported] says that the service behind
	// this backend cannot peek, so that the caller has to receive.
	Peek(ctx context.Context, c Channel, from PeekFrom, max int) ([]Peeked, error)
}

// PeekFrom is where a Peek begins. The zero value is the first message that is not finished.
type PeekFrom struct {
	// Last: the last messages of the channel, instead of the first.
	Last bool
	// Time: only messages that were sent then or later; zero: all.
	Time time.Time
	// ID: only the messages from the one with this ID on; "": all. It is an error of class [NotFound] if there is no
	// such message.
	ID string
	// Finished: also messages that are finished already, where the service still has them.
	Finished bool
}

// Peeked is a message that was read without receiving it. Handle and Source of its Delivery are zero. Opener works.
type Peeked struct {
	Delivery Delivery
	Raw      Raw
}
