package driver

import "time"

// Action is what becomes of a delivery.
type Action uint8

const (
	// Done deletes it, or marks it finished.
	Done Action = iota
	// Release gives it back untouched: it is there again at once. On a log only at shutdown. Not an attempt.
	Release
	// Retry lets it come back after Settlement.After. Where that means a copy, the copy stands before the original
	// is finished.
	Retry
	// Reject copies it as received, with its Death, to the channel's dead letters, then finishes it; the pair is
	// idempotent where the service can de-duplicate. Without a dead-letter channel it is an error, and the delivery
	// stays ours.
	Reject
)

// String is the action's name, for errors and reports.
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
	Attempt int32         // starts so far, this one included, where the backend can carry it along
	Death   *Death        // Reject only
}

// Death tells why a delivery was rejected.
type Death struct {
	Error       string // its text; the backend cuts it to what the service takes
	Kind        string // exhausted, permanent, timeout, undecodable, …
	Consumer    string // who rejected it
	Channel     string // the channel it died on, as users spell it
	Attempts    int32
	First, Last time.Time // the first and the last failure known to the consumer
}
