package driver

import "time"

// Action is what the core decided about a delivery.
type Action uint8

const (
	// Done deletes the delivery, or marks it finished.
	Done Action = iota
	// Release returns the delivery untouched; it can be received again at once. No attempt is counted. On a log, the
	// core releases only at shutdown.
	Release
	// Retry makes the delivery available again after Settlement.After. Where this takes a copy, the copy is written
	// before the original is finished.
	Retry
	// Reject copies the delivery as received, together with its Death, to the channel's dead letters, and then finishes
	// it; the two steps are idempotent together where the service can de-duplicate. Without a dead-letter channel,
	// Reject is an error and the delivery stays ours.
	Reject
)

// String returns the name of the action, for errors and reports.
func (a Action) String() string {
	names := [...]string{"done", "release", "retry", "reject"}
	if int(a) < len(names) {
		return names[a]
	}
	return "unknown action"
}

// Settlement is the verdict on one delivery.
type Settlement struct {
	Handle  Handle
	Action  Action
	After   time.Duration // Retry only
	Attempt int32         // attempts so far, including this one, if the backend can carry the number along
	// FirstFailure is the first failure that the core knows of, for a backend that can carry it along; zero: none.
	// Retry only.
	FirstFailure time.Time
	Death        *Death // Reject only
	// KeepBody: the body of the delivery in a [Store] stays, because a forwarded message points to it. Done only.
	KeepBody bool
}

// Death says why a delivery was rejected.
type Death struct {
	Error       string // its text; the backend cuts it to what the service takes
	Kind        string // exhausted, permanent, timeout, undecodable, …
	Consumer    string // the consumer that rejected the delivery
	Channel     string // the channel of the rejected delivery, as users write it
	Attempts    int32
	First, Last time.Time // the first and the last failure that the consumer knows of
}
