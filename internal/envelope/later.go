package envelope

// Later is for a message that waits beside its channel, in a queue of its own.
type Later struct {
	// ID is the message's own id: the service gives it another one with each send.
	ID string `json:"id"`
	// Channel is where it goes when it is due.
	Channel string `json:"ch"`
	// Delay is how long it waits, in milliseconds from its first acceptance, and At is when its wait ends, in
	// milliseconds since 1970. One of them is set.
	Delay int64 `json:"d,omitempty"`
	At    int64 `json:"at,omitempty"`
	// Sequence grows with the sends of a producer, and with time. It orders messages that are due at the same time.
	Sequence int64 `json:"n"`
	// Cancellable: it may be sent on only if it was not cancelled.
	Cancellable bool `json:"c,omitempty"`
	// Alone: the message has no other use for its envelope.
	Alone bool `json:"x,omitempty"`
}

// WithoutLater returns the envelope of a message whose wait is over; "": it needs none.
func WithoutLater(envelope string, l Later) string {
	fields := open(envelope)
	delete(fields, "lt")
	if l.Alone && fields["d"] == nil && fields["a"] == nil {
		return ""
	}
	return JSON(fields)
}
