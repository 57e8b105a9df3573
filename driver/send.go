package driver

import (
	"context"
	"io"
	"time"
)

// Message is a message to send.
type Message struct {
	OrderKey   string
	RoutingKey string
	// DedupID identifies equal messages to the service. "": where the service de-duplicates, the backend derives it
	// from order key, routing key, type, version and body.
	DedupID     string
	ContentType string
	Type        string // the type of the body, for dispatch by type
	Version     int    // the version of Type's schema; 0: not versioned
	Header      []Header
	Body        []byte
	// Reader has the body instead of Body, and Size is the number of its bytes. The core sets it only if Size is larger
	// than [SendLimits].Apart, and that is not 0. Prepare reads it once.
	Reader io.Reader
	Size   int64
	// Delay is how long the message waits from its acceptance, and At is when its wait ends, by the sender's clock; the
	// core sets at most one. A backend reads the clock when it sends: a time that is over by then means no wait.
	Delay time.Duration
	At    time.Time
	// Cancellable: [Operations].Cancel can cancel the message until its wait ends. The core sets it only if the backend
	// has that operation, and together with Delay or At.
	Cancellable bool
	// Tick: the message is one of a schedule. Senders of several processes send it with the same DedupID and OrderKey,
	// and the channel gets one of these, also a channel without order, if all are sent within five minutes. The core
	// sets it only if the backend has [Operations].Clock, and without Delay and At.
	Tick bool
	// Expires is how long after its first acceptance the message is worth handling, in whole milliseconds; 0: always.
	// The backend only carries it. First is the time of the first acceptance, of a message that is sent again; zero:
	// this is its first send, and the service's own time of the acceptance counts, never the sender's clock.
	Expires time.Duration
	First   time.Time
}

// Header is a name and a value. Names are unique within a message; only in records of Kafka they may repeat.
type Header struct {
	Name, Value string
	// Type is the type of the message attribute of SQS or SNS that the header was or will be: Number, Binary,
	// String.json and so on; "": String. The Value of a Binary one is in base64. Kafka has no types, and ignores it.
	Type string
}

// Prepared is a message in wire form: validated, and with its envelope.
type Prepared struct {
	Wire     any    // owned by the backend
	OrderKey string // the core keeps at most one batch in flight per OrderKey
	Size     int    // counted against SendLimits.Bytes
	// Receipt is filled in by Send and Post, before they answer, for an entry that was accepted. nil: no caller asked.
	Receipt *Receipt
}

// Receipt is what the service reports about a message that it accepted.
type Receipt struct {
	ID string // assigned by the service; the ID of the message's deliveries, where there is one queue or log
	// Duplicate: the service accepted the message and does not deliver it, because the same Sender sent an equal one
	// before. The duplicate of another Sender's message is not recognized.
	Duplicate bool
	// CancelID is the id for [Operations].Cancel. "": the message is not Cancellable.
	CancelID string
}

// SendLimits are the limits of one call of Send.
type SendLimits struct {
	// Batch is the most messages that one Send takes. 0: the backend makes batches itself, so the core calls Send once
	// per caller and does not join callers.
	Batch int
	Bytes int // the most that the Prepared.Size of one Send may sum to; 0: no limit
	// Apart: Prepare writes a body that is larger to a [Store], and takes long for it, so the core prepares several
	// such messages of a batch at once. A smaller one may be written, too. 0: the Sender has no store.
	Apart int64
}

// Sender sends to one channel. Safe for concurrent use.
type Sender interface {
	Limits() SendLimits

	// Prepare encodes one message in the goroutine of its caller; it is not repeated when Send is. Prepare returns
	// every error that concerns a single message (too large, an invalid character, a delay on a channel without
	// delays), so that such an error cannot fail a batch.
	Prepare(ctx context.Context, m *Message) (Prepared, error)

	// Send returns when the service has accepted the batch. A *BatchError names the entries that were not accepted; any
	// other error means that no entry is known to be accepted. On ordered channels the core never has two batches with
	// the same order key in flight, and several messages of a key in one batch only if the producer's options ask for
	// it. The core repeats entries that failed with a passing error, so the service's client must not, unless the
	// backend makes batches itself (SendLimits.Batch is 0): then the client repeats and the core does not.
	Send(ctx context.Context, batch []Prepared) error

	// Close releases the sender. The core calls it when no Send is running.
	Close(ctx context.Context) error
}

// Poster is a Sender that makes batches itself ([SendLimits].Batch is 0) and takes messages without waiting for the
// answer. The core then calls Post instead of Send, in the goroutines of its callers, so that the messages of one
// caller stay in order.
type Poster interface {
	// Post returns when the messages are queued in this order, behind those of earlier calls; it waits only for free
	// capacity. The backend calls answered once per message, with its index, from any goroutine; answered returns at
	// once.
	Post(ctx context.Context, batch []Prepared, answered func(i int, err error))
}
