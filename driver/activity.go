package driver

import (
	"errors"
	"time"
)

// Activity is what has happened in a channel. Services count late: what has happened within the last minutes may be
// missing, and within the last quarter of an hour if nobody had used the channel for hours before.
type Activity struct {
	Channel Channel
	// Since and Until are the time that was counted. Since is at or before the time that was asked for, by at most one
	// period of the service's counts.
	Since, Until time.Time

	Sent          Reading[int64] // accepted by the service; of an exchange: published to it
	SentBytes     Reading[int64] // the sizes of what was sent; of less than an hour, a service need not count them
	Received      Reading[int64] // deliveries to consumers, each time
	EmptyReceives Reading[int64] // receives that returned nothing
	Deleted       Reading[int64] // finished
	Delivered     Reading[int64] // of an exchange: copies that reached a queue
	Failed        Reading[int64] // of an exchange: copies that did not
	// Consumers is how many consumers are connected now, or have left a position that the service keeps for them.
	Consumers Reading[int64]
	// Oldest is the age of the oldest message that is not finished, some minutes ago; 0: there is none.
	Oldest Reading[time.Duration]
}

// Reading is a number that is known or not. Zero is a number.
type Reading[T int64 | time.Duration] struct {
	Value T
	// Err is why the value is unknown; nil: it is known. Its class says what can be done: [Denied] permit the call,
	// [Transient] or [Throttled] ask again, [NotFound] the service has counted nothing that could be compared with,
	// [Permanent] it never counts this, as [ErrNotCounted].
	Err error
}

// Known reports whether the value is known.
func (r Reading[T]) Known() bool { return r.Err == nil }

// ErrNotCounted is in a [Reading] of what the service does not count, or of what a channel of this kind does not have.
var ErrNotCounted = errors.New("the service does not count this")

// Member is a process that receives from a channel, as the service knows it.
type Member struct {
	ID     string // of this membership
	Client string // what the client calls itself
	Host   string // where it is, as the service sees it
	// Partitions are what it receives from now; none: nothing yet, or the service does not tell.
	Partitions []int32
}

// Stored is what a [Store] holds, and what was asked of it. Services count objects once a day.
type Stored struct {
	Name         string // of the bucket
	Since, Until time.Time
	Objects      Reading[int64]
	Bytes        Reading[int64]
	Puts, Gets   Reading[int64] // requests
}

// Past is what the service has counted in a channel, minute by minute.
type Past struct {
	Channel Channel
	Minutes []Minute // oldest first, without those of which nothing is known
	// Err is why nothing is known, with a class as in [Reading]; nil: Minutes is all that the service has.
	Err error
}

// Minute is one minute of a channel. A negative number is unknown.
type Minute struct {
	At                         time.Time     // its begin
	Waiting, InFlight, Delayed int64         // the most at a moment of the minute
	Oldest                     time.Duration // the age of the oldest message
	Sent, Deleted              int64         // in the whole minute
}
