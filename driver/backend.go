package driver

import (
	"context"
	"time"
)

// Backend opens both ends of channels. It is safe for concurrent use. A Backend may also be a [Provisioner], a
// [Finder] and an [Inspector]; the core asserts them once, at construction.
type Backend interface {
	Sender(ctx context.Context, to Channel) (Sender, error)
	Receiver(ctx context.Context, from Channel, o ReceiverOptions) (Receiver, error)

	// Close releases what the backend itself holds (connections, say). Senders and Receivers are closed before it.
	// What is called after it answers [ErrClosed].
	Close(ctx context.Context) error
}

// Channel names one end to the backend.
type Channel struct {
	Exchange string // the fan-out point; "" for a one-to-one channel
	Queue    string // "" with an Exchange: all of its queues, which only a Sender can have
	Ordered  bool
	// DeadLetter means the dead letters of the channel instead of the channel.
	DeadLetter bool
}

// String is the name as users spell it: orders, wishlist_events.*, wishlist_events.audit_log, orders@dlq.
func (c Channel) String() string {
	name := c.Queue
	if c.Exchange != "" {
		if name == "" {
			name = "*"
		}
		name = c.Exchange + "." + name
	}
	if c.DeadLetter {
		name += "@dlq"
	}
	return name
}

// Inspector looks without receiving.
type Inspector interface {
	Inspect(ctx context.Context, c Channel) (Depth, error)
}

// Depth is how much lies in a channel. On services that count approximately it is approximate.
type Depth struct {
	Waiting  int64         // could be received now
	InFlight int64         // received and not yet settled
	Delayed  int64         // not yet due
	Oldest   time.Duration // the age of the oldest waiting message; negative: the service does not tell
}
