package driver

import "time"

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
	// Cancellable: the message waits for its time, and [Operations].Cancel cancels it by the ID of its delivery.
	Cancellable bool
}
