package driver

import (
	"context"
	"time"
)

// Provisioner creates the resources that a channel needs, idempotently, or reports which are missing. For a channel of
// dead letters it creates nothing: the consumer of the original channel creates the dead letters' queue.
type Provisioner interface {
	Ensure(ctx context.Context, s ChannelSpec) error

	// Find returns the dead-letter channel dead with Ordered set to what the service reports, whatever dead.Ordered
	// says; if the service does not report it, Ordered is unchanged. The core calls it instead of Ensure when dead
	// letters are opened. Find creates and changes nothing. The error for dead letters that do not exist is of class
	// NotFound.
	Find(ctx context.Context, dead Channel) (Channel, error)
}

// Mode says how much a Provisioner may change.
type Mode uint8

const (
	// Auto creates what is missing. An owner also changes attributes that differ, but for resources that a topology
	// has declared, which it only compares.
	Auto   Mode = iota
	Verify      // change nothing; a resource that is missing or differs is an error
	Never       // make no call
	// Declare is Auto for what declares the channel: an owner changes every attribute to what the specification says,
	// also a retention that is longer, and resources that a topology has declared.
	Declare
)

// Creates reports whether a Provisioner may create resources in this mode.
func (m Mode) Creates() bool { return m == Auto || m == Declare }

// TagTopology is the tag of resources that a topology has declared, with the topology's name. An owner whose mode is
// Auto does not change them.
const TagTopology = "topology"

// ChannelSpec describes the resources that the core wants for a channel, independently of the service.
type ChannelSpec struct {
	Channel Channel
	// Owner is set for a consumer, which may change attributes. A producer only creates what is missing.
	Owner bool
	Mode  Mode
	// Again is set when the channel was provisioned before and a part of it was found missing since. An owner may then
	// leave the creation of the exchange to the producers, so that no producer sends before every queue that was lost
	// is subscribed again. Meanwhile the error for a producer may be [Transient].
	Again bool

	Filter         Filter
	Delay          time.Duration // how long every message waits before it can be received; 0: not at all
	Retention      time.Duration // 0: the longest that the service supports, or the backend's default
	DeadRetention  time.Duration // of the dead letters; 0: the longest that the service supports
	Lease          time.Duration // 0: the backend's default
	LongestRetry   time.Duration // the longest delay that the consumer's policy is known to choose; 0: unknown
	MaxReceives    int           // the service itself dead-letters a message after this many receives; 0: never
	NoDeadLetters  bool
	HighThroughput bool   // ordered channels: de-duplicate per order key, not per channel
	Encryption     string // the encryption key; "": the service's own
	Tags           map[string]string
	// Native are further attributes of the queue, or of an exchange's topic, by the service's names. A Provisioner
	// leaves attributes alone that it does not have. A service without such attributes refuses them.
	Native map[string]string
	// Topic is what the topic of a log has, as [Operations].Specs reads it; nil: the service has no logs. A Provisioner
	// does not look at it: the options of its backend say what topics are to be like.
	Topic *TopicSettings
}

// TopicSettings are what a topic of a log has.
type TopicSettings struct {
	Partitions int
	Retention  time.Duration     // 0: as the brokers' setting
	Config     map[string]string // further settings of its own, by the service's names
	Tiers      []time.Duration   // the waiting times of a queue's retry topics, ascending
}

// Filter selects messages by routing key. A message passes if it matches Exact or Prefix. Exclude cannot be combined
// with them; a message without a routing key passes Exclude. The zero Filter lets every message pass.
type Filter struct{ Exact, Prefix, Exclude []string }

// IsZero reports whether every message passes.
func (f Filter) IsZero() bool {
	return len(f.Exact) == 0 && len(f.Prefix) == 0 && len(f.Exclude) == 0
}
