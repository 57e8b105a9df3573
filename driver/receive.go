package driver

import (
	"context"
	"time"
)

// Source is one period of ownership: an SQS queue for as long as the receiver lives, or a Kafka partition from its
// assignment to its revocation (an epoch). The identity of a source is its address, so that a settlement of an old
// epoch cannot be mistaken for one of the next epoch.
type Source struct{ Name string }

// Handle identifies a delivery to its backend; the core does not look inside. Ref is a pointer and Seq a number so that
// the backend can make a handle without an allocation.
type Handle struct {
	Ref any
	Seq uint64
}

// Delivery is one received message.
type Delivery struct {
	ID string // assigned by the service; the same whenever the message is delivered again

	// OrderKey is set only where order is kept, and names the delivery's lane. If it is "" on an ordered channel, all
	// such deliveries of one Source share a lane.
	OrderKey string
	// Tenant is set only where order is not kept. It names the tenant for fairness and makes no lane.
	Tenant     string
	RoutingKey string

	ContentType string
	Type        string
	Version     int
	Header      []Header

	Body []byte // never modified after Receive, because a dead letter may be made of it
	// Opener reads the body if that is in a [Store]. Body is then nil, and Size is the number of bytes of the body, as
	// its sender said. nil: Body is the body.
	Opener Opener
	Size   int64

	Attempt  int32 // attempts before this delivery that are known for certain; 0: none or unknown
	Received int32 // how often the message was received, including this time: an upper bound on attempts; 0: unknown

	// FirstFailure is the time of the first failure in earlier deliveries, as their settlements said; zero: none, or
	// the backend does not carry it along.
	FirstFailure time.Time

	SentAt time.Time // zero: unknown
	Due    time.Time // when a message with its own Delay could first be received; zero: the message has no Delay
	// Expires is the Message.Expires of the sender; 0: never. First is when a service accepted the message for the
	// first time, by the service's clock: a retry tier, a dead letter and a Forwarder carry it along. Zero: unknown.
	Expires   time.Duration
	First     time.Time
	LeaseEnds time.Time // zero: no lease. Counted from before the request, so never later than the real end

	Origin *Origin // of a dead letter: its original channel, whichever program wrote the headers
	Source *Source
	Handle Handle

	// Err is set if the message was received but could not be decoded. Body then holds the raw bytes, and the core
	// rejects the delivery. A dead letter cannot be rejected again; the core passes it on with the error.
	Err error
}

// Origin describes the message that a dead letter was made of.
type Origin struct {
	Channel  Channel
	ID       string // the ID of the original message
	OrderKey string
	Death    Death // the last one
	// Deaths is how often the message is known to have been rejected, as far as its history reaches. 0: unknown,
	// because the service moved it without a reason.
	Deaths int
	// Earlier are the IDs of the messages of its earlier deaths, as far as the history reaches, the first one first.
	Earlier []string
}

// ReceiverOptions tell the backend how the core will use a Receiver.
type ReceiverOptions struct {
	// Filter is applied by the backend: a message that does not match is discarded there and never returned.
	Filter Filter
	// Window is the number of places the core would like to hold; 0: the backend's default for Concurrency.
	Window      int
	Concurrency int           // the number of handlers that run at once
	Wait        time.Duration // the duration of a long poll; 0: a poll does not wait
	Bytes       int64         // a hint for client-side buffers; 0: none
	Lease       time.Duration // the duration of a fresh lease; 0: the backend's default
	Events      Events
}

// Events report lost ownership and discarded messages to the core. The backend calls them from its own goroutine or
// from within Receive, and never while it holds a lock that Receive, Settle, Finish or Started takes: the core calls
// those from within the events, and from goroutines that an event waits for. A backend that never loses a source calls
// neither Revoked nor Lost. A nil func is not called.
type Events struct {
	// Revoked: the sources will be lost soon, so the core dispatches none of their deliveries any more. Revoked
	// returns when every started delivery has been settled through Settle, or when ctx ends (the core cancels the
	// handlers shortly before). The backend then commits and forgets the sources.
	Revoked func(ctx context.Context, s []*Source)
	// Lost: the sources already belong to another consumer. The core cancels their handlers with cause err and returns
	// at once. The backend commits nothing.
	Lost func(s []*Source, err error)
	// Discarded: the backend has finished these messages, and no Receive returned them. The backend calls it once per
	// poll and reason, after the messages are finished.
	Discarded func(d Discarded)
	// Unopened: so many messages came in the envelope of another service, from a sender that the channel does not
	// trust. They are delivered as they came. The backend calls it once per poll.
	Unopened func(n int)
}

// Discarded describes messages that the backend finished without passing them to the core.
type Discarded struct {
	Reason   DiscardReason
	Count    int
	IDs      []string // assigned by the service; nil if the backend would have to compute them
	Expected bool     // this is how the backend works, and there is nothing to repair
	// Err is set if the backend could not finish them: they are delivered again. nil: they are finished.
	Err error
}

// DiscardReason says why the backend finished messages without passing them to the core.
type DiscardReason uint8

const (
	DiscardFiltered DiscardReason = iota // the consumer's filter does not select them
	DiscardFinished                      // the backend's record of finished messages says that they were handled before
)

// String returns the name of the reason, for errors and logs.
func (r DiscardReason) String() string {
	names := [...]string{"filtered", "finished"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown reason"
}

// ReceiveLimits are the limits of the service. They do not change while the Receiver lives.
type ReceiveLimits struct {
	Batch       int // the most deliveries that one Receive returns
	SettleBatch int // the most settlements in one request; 0: no limit
	Window      int // the most places that are useful
	Polls       int // the most Receive calls that may run at once; 0 and 1: one

	// Grows: while traffic fills the polls, the core may hold more than Window deliveries and run more than Polls
	// calls, so that its handlers do not wait for round trips. Leave it out where the service allows few receives.
	Grows bool
	// Lanes: one Receive may return many deliveries of one order key, and only the first can start. The core then
	// counts Window in lanes, and bounds the deliveries that wait behind others of their lane by a number of its own.
	Lanes bool

	// RetryMin and RetryMax bound the Retry.After that the service can keep. On channels with lanes the core holds
	// shorter retries in their lane. Both 0: the service keeps no retries, and the core holds them all.
	RetryMin, RetryMax time.Duration
	// HoldBelow: the core should hold retries shorter than this under a renewed lease although the service could keep
	// them. The core then knows their failures and keeps their lane. The core does so while its bound on held retries
	// allows. 0: the service keeps every retry that it can.
	HoldBelow time.Duration
	// MaxReceives is the number of receives after which the service itself dead-letters a message, without a reason. 0:
	// never.
	MaxReceives int
	// HoldMax bounds how long retries may hold a delivery in its lane, counted from the delivery's first failure; the
	// next failure rejects it. 0: no bound.
	HoldMax time.Duration
	// Behind says what happens to the deliveries of a lane behind a retry that the service keeps.
	Behind Behind
	// Keeps: the service is a log, and received deliveries stay ours without a lease until they are settled. The core
	// releases them only at its end, not even in a pause: an unstarted delivery waits in its lane.
	Keeps bool
	// Handover is how long it takes at most until a new consumer gets what a consumer held that died. 0: no longer than
	// the leases last.
	Handover time.Duration

	Lease      time.Duration // the duration of a fresh lease; 0: deliveries have no lease
	LeaseTotal time.Duration // how long renewals can keep one delivery, counted from its receive; 0: no limit
}

// Behind is what happens to the deliveries of a lane behind a retry that the service keeps.
type Behind uint8

const (
	BehindReleases Behind = iota // they are released in order; the service keeps the order (a queue)
	BehindFollows                // they are settled as retries too, in order, and this does not count as an attempt
	BehindGoesOn                 // they are handled; order is not kept across a retry
)

// Ask is what a Receive requests.
type Ask struct {
	Max int // deliveries, at most
	// Brief polls wait for BriefWait at most, because another poll of the receiver waits for the whole Wait of its
	// options. So few polls are open at a stop. A backend whose open polls can be canceled without loss may ignore it.
	Brief bool
}

// BriefWait is the longest wait of a brief poll.
const BriefWait = time.Second

// Wait is how long the poll waits, of a receiver whose polls wait for long.
func (a Ask) Wait(long time.Duration) time.Duration {
	if a.Brief {
		return min(long, BriefWait)
	}
	return long
}

// Receiver receives from one channel.
type Receiver interface {
	Limits() ReceiveLimits

	// Receive appends at most ask.Max deliveries to into. It returns when a delivery came, when the long poll ended,
	// when ctx ended, or when a Settle freed capacity that the receiver was waiting for. When ctx ends, Receive still
	// returns the deliveries that the service has already handed out, and the core releases them; it waits for an open
	// poll if nothing else prevents their loss. At most Limits().Polls calls run at once, unless the limits say that
	// they grow. Deliveries of one Source come in order. After an error the core waits with backoff before the next
	// call. While the channel is paused at the service, the error is [ErrPaused].
	Receive(ctx context.Context, ask Ask, into []Delivery) ([]Delivery, error)

	// Settle reports verdicts to the service, in order within a Source. A *BatchError reports single entries; an entry
	// is [ErrLost] if its delivery is no longer ours and the service says so. Any other error means that no entry is
	// known to be settled. nil means that the service has the verdicts or, on a log, that a later commit reports them.
	// Entries of a forgotten Source are ignored. Settle is safe for concurrent use, also from within Events.Revoked.
	Settle(ctx context.Context, batch []Settlement) error

	// As sets the value that to points to, to what the service delivered beside the fields of a Delivery. It returns
	// false if it does not know the type, or if the delivery is no longer held. It is safe for concurrent use and does
	// no I/O. Every receiver knows *[Provenance], and *[Raw] if the backend's senders are [Forwarder]s; the package of
	// a backend says which other types it knows.
	As(h Handle, to any) bool

	// Close ends the receiver. It also ends a Receive that is still running, which happens when the core's time for
	// shutdown is over. Messages that are not settled are delivered again. An *UnsettledError says how many verdicts
	// that Settle or Finish took are lost.
	Close(ctx context.Context) error
}

// Extender is a Receiver whose leases can be renewed.
type Extender interface {
	// Extend renews the leases so that they last for the duration by, counted from now. It takes at most
	// Limits().SettleBatch handles. ends is counted from before the request. A *BatchError with [ErrLost] names the
	// deliveries that are no longer ours.
	Extend(ctx context.Context, hs []Handle, by time.Duration) (ends time.Time, err error)
}

// AttemptLog is a Receiver that carries the attempts of held retries along, so that a crash does not reset the
// count. Started is called when a retry begins to be held: so many starts so far.
//
// The core may call Started while it holds a lock of its own. Started only notes the number: it does no I/O, never
// blocks, and calls nothing of the core.
type AttemptLog interface {
	Started(h Handle, attempt int32)
}

// Log is a Receiver on a log. Its methods may be called at any time, also after Close.
type Log interface {
	// Uncommitted returns how many messages are finished and not committed: they are delivered again until a commit has
	// passed them. It does no I/O.
	Uncommitted() int64

	// Stalls returns how often Receive could return nothing although there were messages and places were free, because
	// more was finished beyond the oldest unfinished message than the backend can remember; and a sentence for each
	// stall that lasts now and began [StallLasts] ago or earlier.
	Stalls(now time.Time) (times int64, complaints []string)
}

// StallLasts is how old a stall is that a Log complains of.
const StallLasts = 30 * time.Second

// Provenance is where a message was, and what its service says about its trace. A zero field is unknown.
type Provenance struct {
	Partition string // of a log, as its service writes it; "": the service has no partitions
	Offset    int64  // in its partition
	// Trace is the trace header that the service itself attaches: AWSTraceHeader of SQS.
	Trace string
}

// Finisher is a Receiver whose Done is noted in memory, and told to the service by a later commit. The core then calls
// Finish for each delivery that is done, instead of collecting them for Settle. It cannot fail; a forgotten Source is
// ignored.
//
// The core may call Finish while it holds a lock of its own. Finish only notes the handle: it does no I/O, never
// blocks, and calls nothing of the core. The consequences, such as the admission of a waiting message, happen in the
// backend's own goroutines or in the next Receive.
type Finisher interface {
	Finish(h Handle)
}
