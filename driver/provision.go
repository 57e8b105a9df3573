package driver

import (
	"context"
	"time"
)

// Provisioner makes what a channel needs, idempotently, or says what is missing. Of a channel of dead letters it
// makes nothing: the consumer of the channel itself does.
type Provisioner interface {
	Ensure(ctx context.Context, s ChannelSpec) error
}

// Finder is a Backend that finds dead letters as they are. The core asks it instead of a Provisioner when dead
// letters are opened: only the consumer of the channel itself makes them.
type Finder interface {
	// Find returns dead, which is the dead letters of a channel, as Ordered as they are, whatever dead says; a
	// service that does not tell leaves that as it is. It makes and changes nothing; what does not exist is of class
	// NotFound.
	Find(ctx context.Context, dead Channel) (Channel, error)
}

// Mode says how far a Provisioner may go.
type Mode uint8

const (
	Auto   Mode = iota // create what is missing; an owner also changes what differs
	Verify             // look, change nothing; what is missing or differs is an error
	Never              // make no call at all
)

// ChannelSpec is what the core wishes of a channel, in no service's words.
type ChannelSpec struct {
	Channel Channel
	// Owner is a consumer, who may change attributes; a producer only creates what is missing.
	Owner bool
	Mode  Mode
	// Again: it was there when its end was opened, and something of it was found gone since. An owner may then leave
	// the exchange to its producers, so that none of them sends before everybody whose queue is gone is back; a
	// producer may be refused as [Transient] meanwhile.
	Again bool

	Filter         Filter
	Delay          time.Duration // every message waits that long; 0: none
	Retention      time.Duration // 0: the longest the service has
	Lease          time.Duration // 0: the backend's default
	MaxReceives    int           // after so many the service itself dead-letters; 0: never
	NoDeadLetters  bool
	HighThroughput bool   // ordered channels: de-duplicate per order key, not per channel
	Encryption     string // "" the service's own, else a key
	Tags           map[string]string
}

// Filter selects by routing key. Exact and Prefix are alternatives of each other; Exclude stands alone and lets
// messages without a routing key pass. The zero Filter lets everything pass.
type Filter struct{ Exact, Prefix, Exclude []string }

// IsZero says that everything passes.
func (f Filter) IsZero() bool {
	return len(f.Exact) == 0 && len(f.Prefix) == 0 && len(f.Exclude) == 0
}
