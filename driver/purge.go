package driver

import "context"

// Purger is a Backend that deletes the messages of a channel without receiving them.
type Purger interface {
	// Purge plans, and unless dry is set, deletes all messages of a queue or of dead letters: those that wait, that
	// consumers hold, and that are not due yet. Consumers may still handle what they hold. Messages that are sent later
	// stay, and so do bodies in a [Store]. An error of class [Throttled] says how long to wait if the service is still
	// busy with an earlier purge. It is an error of class [Permanent] for an exchange.
	Purge(ctx context.Context, c Channel, dry bool) (Purged, error)
}

// Purged is what a Purge deletes.
type Purged struct {
	// Messages is how many messages the channel loses. It is approximate where the service counts approximately.
	Messages int64
	// Others are consumers that lose the messages as well, because the service keeps them once for all: names of
	// consumer groups, of Godwit and of other programs. nil: there are none.
	Others []string
}
