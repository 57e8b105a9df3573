package driver

import (
	"context"
	"time"
)

// Message is what goes out.
type Message struct {
	OrderKey   string
	RoutingKey string
	// DedupID "": derived from order key, routing key, type, version and body where the service de-duplicates.
	DedupID     string
	ContentType string
	Type        string // what the body is, for dispatch by type
	Version     int    // of Type's schema; 0: not versioned
	Header      []Header
	Body        []byte
	Delay       time.Duration
}

// Header is one name and value. Names are unique within a message.
type Header struct{ Name, Value string }

// Prepared is a message in wire form: validated and enveloped.
type Prepared struct {
	Wire     any    // the backend's own
	OrderKey string // what the core keeps in order: one batch in flight for each
	Size     int    // what counts against SendLimits.Bytes
	// Receipt is filled in by Send and Post for an entry that was accepted, before they answer. nil: nobody asks.
	Receipt *Receipt
}

// Receipt is what the service says of a message that it accepted.
type Receipt struct {
	ID string // the service's: that of the message's deliveries, where there is one queue or log
	// Duplicate: the service has accepted and not delivered it, because an equal one was accepted by the same Sender
	// before. A duplicate of another Sender's message cannot be told.
	Duplicate bool
}

// SendLimits bound one call of Send.
type SendLimits struct {
	// Batch is the most messages a Send takes. 0: the backend batches by itself, so the core calls Send per
	// caller and joins nobody.
	Batch int
	Bytes int // the sum of Prepared.Size in a Send; 0: no bound
}

// Sender sends to one channel. Safe for concurrent use.
type Sender interface {
	Limits() SendLimits

	// Prepare encodes one message in the goroutine of its caller, and is not repeated when Send is. Every fault
	// of a single message (too large, a bad character, a delay where there is none) is answered here, so that it
	// can touch no batch.
	Prepare(ctx context.Context, m *Message) (Prepared, error)

	// Send answers when the service has accepted. A *BatchError names the entries that were not; any other error
	// means that none is known to be accepted. On ordered channels the core never has two batches with one order
	// key in flight, and several messages of a key in one batch only where the producer asks for it. The core repeats what failed in passing; a client below it does not, unless the backend
	// batches by itself (SendLimits.Batch 0): then its client repeats and the core does not.
	Send(ctx context.Context, batch []Prepared) error

	// Close releases the sender. No Send is running.
	Close(ctx context.Context) error
}

// Poster is a Sender that batches by itself ([SendLimits].Batch is 0) and takes messages without waiting for their answers:
// the core then calls Post instead of Send, in its callers' goroutines, so that what one caller sends stays in order.
type Poster interface {
	// Post returns once the messages stand in line, in this order and behind those of earlier calls; it waits for room
	// only. answered gets each message's end once, by its index, from any goroutine, and returns at once.
	Post(ctx context.Context, batch []Prepared, answered func(i int, err error))
}
