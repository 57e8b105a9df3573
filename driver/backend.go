package driver

import (
	"cmp"
	"context"
	"time"
)

// Backend opens senders and receivers of channels. It is safe for concurrent use. A Backend may also be a
// [Provisioner], a [Transformer] and an [Operator]; the core asserts these abilities once, at construction.
type Backend interface {
	Sender(ctx context.Context, to Channel) (Sender, error)
	Receiver(ctx context.Context, from Channel, o ReceiverOptions) (Receiver, error)

	// Close releases the resources of the backend itself, for example its connections. Senders and Receivers are closed
	// before it. A method called after Close returns [ErrClosed].
	Close(ctx context.Context) error
}

// Channel names one channel to the backend.
type Channel struct {
	Exchange string // the fan-out point; "" for a one-to-one channel
	Queue    string // "" with an Exchange: all queues of the exchange, which is possible only for a Sender
	Ordered  bool
	// DeadLetter selects the dead letters of the channel instead of the channel itself.
	DeadLetter bool
	// Later selects the messages that wait for their time beside a one-to-one channel, named by Queue, or beside the
	// exchange of this name. Only operators name it; Ordered is false.
	Later bool
	// Ticks selects the messages of schedules that were sent to a channel or an exchange without order, and are not
	// sent on yet. Queue names it as with Later; Ordered is true, because their queue removes duplicates.
	Ticks bool
}

// Beside reports whether the channel is what waits beside another one or an exchange, which Queue names.
func (c Channel) Beside() bool { return c.Later || c.Ticks }

// String is the name as users spell it: orders, wishlist_events.*, wishlist_events.audit_log, orders@dlq,
// orders@later, orders@ticks.
func (c Channel) String() string {
	name := c.Queue
	if c.Exchange != "" {
		name = cmp.Or(name, "*")
		name = c.Exchange + "." + name
	}
	if c.DeadLetter {
		name += "@dlq"
	}
	if c.Later {
		name += "@later"
	}
	if c.Ticks {
		name += "@ticks"
	}
	return name
}

// Address is where the messages of a channel are, as OpenTelemetry calls its service and its channels.
type Address struct {
	System      string // messaging.system: aws_sqs, aws.sns, kafka
	Destination string // the name of the queue or topic that the channel is on
	Group       string // the consumer group of a log; "": there is none
}

// Depth is the number of messages in a channel. It is approximate where the service counts approximately.
type Depth struct {
	Waiting  int64 // can be received now
	InFlight int64 // received and not yet settled
	Delayed  int64 // not yet due
	// Oldest is the age of the oldest waiting message; negative: unknown, because the service does not report it.
	Oldest time.Duration
	// Partitions are the partitions of a log that have waiting messages, ascending; nil: the service has no partitions.
	Partitions []PartitionDepth
}

// All is how many messages there are.
func (d Depth) All() int64 { return d.Waiting + d.InFlight + d.Delayed }

// PartitionDepth is what waits in one partition of a log.
type PartitionDepth struct {
	Partition int32
	Waiting   int64 // not finished yet, as far as the latest commit says
	// Oldest is the age of the first message that is not finished. It may be in a handler's hands, or wait for a retry;
	// negative: unknown.
	Oldest time.Duration
}
