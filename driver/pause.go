package driver

import "context"

// Pauser is a Backend on a service that can refuse receives itself. A channel that is paused there stays so whatever
// its consumers do, and also for consumers that are not Godwit's.
type Pauser interface {
	// Pause makes the service refuse every receive from a channel, until Resume. Messages can still be sent, and
	// deliveries that a consumer holds can be settled. A Receive meanwhile returns an error that is [ErrPaused].
	// Provisioning does not end a pause, and does not report it as a difference. Pause reports whether the channel is
	// not paused yet; if dry is set, nothing else happens. It is an error of class [Permanent] for an exchange, and for
	// a resource that the backend was told to use, because Godwit never changes it.
	Pause(ctx context.Context, c Channel, dry bool) (changes bool, err error)
	// Resume ends a pause. It reports whether the channel is paused; if dry is set, nothing else happens.
	Resume(ctx context.Context, c Channel, dry bool) (changes bool, err error)
}
