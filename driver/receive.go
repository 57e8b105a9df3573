package driver

import (
	"context"
	"time"
)

// Source is one period of ownership: an SQS queue for ever, a Kafka partition from assignment to revocation. Its
// address is its identity, so that a completion of an old epoch cannot be mistaken for one of the next.
type Source struct{ Name string }

// Handle is opaque to the core. Ref is a pointer and Seq a number so that a delivery costs the backend no allocation.
type Handle struct {
	Ref any
	Seq uint64
}

// Delivery is one message as received.
type Delivery struct {
	ID string // the service's; stays the same when the message is delivered again

	// OrderKey is set only where order is kept: it means a lane. "" on an ordered channel: one lane per Source.
	OrderKey   string
	Tenant     string // where order is not kept: whose message it is, for fairness; no lane
	RoutingKey string

	ContentType string
	Type        string
	Version     int
	Header      []Header

	Body []byte // nobody changes it: a dead letter may be made of it

	Attempt  int32 // earlier starts known for certain; 0: none or unknown
	Received int32 // how often it was received, this time included: an upper bound on starts; 0: unknown

	SentAt    time.Time // zero: unknown
	Due       time.Time // of a message with a Delay of its own: when it could be received first; zero: it has none
	LeaseEnds time.Time // zero: no lease. Measured from before the request, so never later than the truth

	Origin *Origin // of a dead letter: where it came from, whoever wrote the headers
	Source *Source
	Handle Handle

	// Err is set when the message could be received but not decoded. Body then holds the raw bytes, and the core
	// rejects it; of dead letters, which have nowhere to go, it hands it over with the reason.
	Err error
}

// Origin is where a dead letter was before it died.
type Origin struct {
	Channel  Channel
	ID       string // of the message that died
	OrderKey string
	Death    Death
}

// ReceiverOptions say what the core will do with a Receiver.
type ReceiverOptions struct {
	Filter      Filter        // applied below the seam: what does not match is finished there and never returned
	Window      int           // places the core would like to hold; 0: the backend's default for Concurrency
	Concurrency int           // handlers at once
	Wait        time.Duration // one long poll at most; 0: do not wait
	Bytes       int64         // a hint for client-side buffers; 0: none
	Lease       time.Duration // how long a delivery is ours before it is renewed; 0: the backend's default
	Events      Events
}

// Events are how lost ownership, and what is finished unseen, reach the core. The backend calls them from its own
// goroutine or from within Receive, never while it holds a lock that Receive, Settle, Finish or Started takes: the core
// calls those from within the events, and from goroutines that an event waits for. Backends that never lose a source
// call neither Revoked nor Lost. A nil func is not called.
type Events struct {
	// Revoked: dispatch nothing more of these. It returns when every started delivery has been settled through
	// Settle, or when ctx ends (the core cancels their handlers shortly before). The backend then commits and
	// forgets the sources.
	Revoked func(ctx context.Context, s []*Source)
	// Lost: already someone else's. Handlers are cancelled with cause err; it returns at once, and the backend
	// commits nothing.
	Lost func(s []*Source, err error)
	// Discarded: these are finished, and no Receive returned them. One call a poll and reason, after they are finished.
	Discarded func(d Discarded)
}

// Discarded are messages that a backend finished without handing them to the core.
type Discarded struct {
	Reason   DiscardReason
	Count    int
	IDs      []string // the service's; nil where the backend would have to compute them
	Expected bool     // this backend works so, and there is nothing to mend
}

// DiscardReason says why messages were finished unseen.
type DiscardReason uint8

const (
	DiscardFiltered DiscardReason = iota // the consumer's filter does not want them
	DiscardFinished                      // they were handled before, says the backend's record of finished messages
)

// String is the reason's name, for errors and logs.
func (r DiscardReason) String() string {
	names := [...]string{"filtered", "finished"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown reason"
}

// ReceiveLimits are what the service allows. They do not change while the Receiver lives.
type ReceiveLimits struct {
	Batch       int // deliveries one Receive returns at most
	SettleBatch int // settlements that travel together; 0: any number
	Window      int // places that make sense
	Polls       int // Receive calls that may run at once; 0 and 1: one

	// RetryMin and RetryMax bound the Retry.After that the service can keep. On channels with lanes the core holds
	// shorter ones in their lane. Both 0: the service keeps none, the core holds them all.
	RetryMin, RetryMax time.Duration
	// HoldBelow: shorter retries are better held by the core, under a renewed lease, although the service could keep them: so
	// it knows their failures, and their lane stays in hand. It does so while it has room for what waits. 0: none.
	HoldBelow time.Duration
	// MaxReceives is the number of receives after which the service itself dead-letters, without a reason. 0: it never does.
	MaxReceives int
	// HoldMax is how long retries may hold a delivery in its lane, counted from its first failure; the next one
	// rejects it. 0: no bound.
	HoldMax time.Duration
	// Behind says what becomes of a lane behind a retry that the service keeps.
	Behind Behind
	// Keeps: what was received stays ours until it is settled, without a lease (a log). The core then releases
	// nothing before its end, not even in a pause: what goes back untouched waits in its lane.
	Keeps bool

	Lease      time.Duration // the lease of a fresh delivery; 0: none
	LeaseTotal time.Duration // how long renewals can keep one delivery, counted from its receive; 0: for ever
}

// Behind is what becomes of the deliveries behind a retry of their lane that the service keeps.
type Behind uint8

const (
	BehindReleases Behind = iota // they go back untouched, in order: the service keeps the order (a queue)
	BehindFollows                // they are settled as retries as well, in order, without counting as attempts
	BehindGoesOn                 // they are handled: order is not kept across a retry
)

// Receiver receives from one channel.
type Receiver interface {
	Limits() ReceiveLimits

	// Receive appends at most max deliveries and returns when something came, when the long poll ended, when ctx
	// ended, or when a Settle made room for what it had to hold back itself. When ctx ends it still returns what
	// the service had already handed out (waiting for an open poll if that is the only way to lose nothing); the
	// core gives it back. At most Limits().Polls calls run at once. Per Source, deliveries come in order.
	// An error is answered with backoff by the core, never with a tight loop.
	Receive(ctx context.Context, max int, into []Delivery) ([]Delivery, error)

	// Settle tells the service the verdicts, in order within a Source. It answers per entry with a *BatchError:
	// [ErrLost] for a delivery that is no longer ours, where the service tells. Any other error means that none
	// is known to be settled. nil means: the service has it, or (on a log) a later commit will. Entries of a
	// forgotten Source are ignored. Safe for concurrent use, also from within Events.Revoked.
	Settle(ctx context.Context, batch []Settlement) error

	// Close ends the receiver, and a Receive that is still running: the core had no more time for it. Unsettled
	// messages come again.
	Close(ctx context.Context) error
}

// Extender is a Receiver whose leases can be renewed.
type Extender interface {
	// Extend makes the leases last for by from now. It takes at most Limits().SettleBatch handles. ends is measured
	// from before the request. A *BatchError with [ErrLost] names what is gone.
	Extend(ctx context.Context, hs []Handle, by time.Duration) (ends time.Time, err error)
}

// AttemptLog is a Receiver that carries the attempts of held retries along, so that a crash does not start the count
// again. Started is called when a retry begins to be held: so many starts so far.
//
// The core may call Started while it holds a lock of its own. Started only notes the number: it does no I/O, waits for
// nothing that takes longer than a few instructions, and calls nothing of the core.
type AttemptLog interface {
	Started(h Handle, attempt int32)
}

// Finisher is a Receiver whose Done is noted in memory, and told to the service by a later commit. The core then calls
// Finish for each delivery that is done, instead of collecting them for Settle. It cannot fail; a forgotten Source is
// ignored.
//
// The core may call Finish while it holds a lock of its own, as with Started: Finish only notes. What
// follows from it (admitting what waited, say) happens in the backend's own goroutines or in the next Receive.
type Finisher interface {
	Finish(h Handle)
}
