package kafka

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	brokersVariable   = "KAFKA_BOOTSTRAP_SERVERS"
	defaultBroker     = "localhost:9092"
	defaultClientID   = "godwit"
	defaultPartitions = 8
	// defaultMaxBlock is how long a failing record holds up its key before it becomes a dead letter.
	defaultMaxBlock = 10 * time.Minute
)

// defaultTiers are few, because each is a topic with as many partitions as the channel's own: a first backoff, and steps
// that keep a record that waits for an hour from being looked at every few seconds.
var defaultTiers = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// Options say how to reach Kafka and how channels lie on it. The zero value is the brokers of the environment's
// KAFKA_BOOTSTRAP_SERVERS, as `godwit local --kafka` prints it, or without it one at localhost:9092.
type Options struct {
	Brokers  []string    // host:port of some of the brokers; empty: as above
	ClientID string      // "": godwit
	Rack     string      // where this client is; brokers may then serve it from the nearest replica
	TLS      *tls.Config // nil: no TLS
	SASL     *SASL       // nil: no authentication
	Client   []kgo.Opt   // the caller's own, applied last; no group, since that is the channel's name
	Logger   *slog.Logger
	// Namespace is put in front of every topic's and group's name: prod.orders. It had better not be an exchange's name: channel y
	// in namespace x and channel x.y without one have groups of the same name.
	Namespace string

	// How topics are created. What exists keeps its partitions: another number would give keys other partitions.
	Partitions  int               // 0: 8
	Replication int               // 0: the broker's default
	Retention   time.Duration     // 0: the broker's default; negative: for ever
	Compression string            // compression.type of the topics, and how producers compress; "": producer, and none
	TopicConfig map[string]string // more of a topic's configuration, as Kafka spells it

	Ordering Ordering        // what is handled one after another
	Retries  Retries         // what a retry means for later records of its key
	MaxBlock time.Duration   // how long Block holds a key; 0: ten minutes
	Tiers    []time.Duration // how long records can wait in topics, ascending; nil: 5 s, 1 m, 10 m, 1 h

	Groups Groups
	// InstanceID makes members static: one that comes back within the session timeout finds its partitions again. It must
	// be another one for each process, and the same one after its restart. A channel's name is added to it. "": dynamic.
	InstanceID string
	// SessionTimeout is how long a member may be silent before its partitions are given to others; 0: 45 s.
	SessionTimeout time.Duration

	// RetryQueue and DeadLetterQueue take what comes back later and what was rejected; nil: topics.
	RetryQueue      RetryQueue
	DeadLetterQueue DeadLetterQueue

	// Channels are what is different for single channels, by name as users spell it: orders, wishlist_events.mobile. What
	// wishlist_events.* says holds for all of its channels that have no entry of their own, and for its topic.
	Channels map[string]ChannelOptions
}

// ChannelOptions are what is different for one channel. Ordering and Retries are taken as they stand; the others only
// where they are not zero.
type ChannelOptions struct {
	Ordering Ordering
	Retries  Retries
	MaxBlock time.Duration
	Tiers    []time.Duration
	Groups   Groups

	Partitions  int
	Retention   time.Duration
	Compression string
	TopicConfig map[string]string
}

// Ordering says what is handled one after another.
type Ordering uint8

const (
	ByKey       Ordering = iota // records of one key; others beside them
	ByPartition                 // records of one partition
	Unordered                   // nothing; a record's key is whose it is, for fairness, and delays are possible
)

// Retries says what a retry means for later records of its key.
type Retries uint8

const (
	// Block keeps them waiting, in this process, for MaxBlock at most. Where nothing is ordered, nothing waits, and the
	// retry waits in a tier, as with Alone.
	Block Retries = iota
	// Park lets the retry wait in a tier, and later records of its key behind it, until it has come back.
	Park
	// Alone lets the retry wait in a tier while later records of its key are handled.
	Alone
)

// Groups says which kind of group consumers join.
type Groups uint8

const (
	Classic  Groups = iota // assigned by its members, cooperatively and sticky
	Consumer               // assigned by the broker (KIP-848, Kafka 4.0 and later)
	// Share is for Unordered channels: brokers hand single records out to whoever asks (KIP-932, Kafka 4.2 and later), so there
	// can be more consumers than partitions.
	Share
)

// SASL says how to authenticate.
type SASL struct {
	Mechanism      string // PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER
	User, Password string
	Token          func(ctx context.Context) (string, error) // of OAUTHBEARER
}

func (o *Options) check() error {
	if o.Namespace != "" && !layout.Legal(o.Namespace) {
		return fmt.Errorf("kafka: Options.Namespace is %q: use letters, digits, '_' and '-'", o.Namespace)
	}
	if o.Partitions < 0 || o.Replication < 0 || o.MaxBlock < 0 || o.SessionTimeout < 0 {
		return fmt.Errorf("kafka: Partitions, Replication, MaxBlock and SessionTimeout of Options cannot be negative")
	}
	if err := checkTiers("Options.Tiers", o.Tiers); err != nil {
		return err
	}
	for name, ch := range o.Channels {
		if err := checkTiers(fmt.Sprintf("Options.Channels[%q].Tiers", name), ch.Tiers); err != nil {
			return err
		}
	}
	return nil
}

// checkTiers wants tiers that have a name of their own each, the shortest first.
func checkTiers(field string, tiers []time.Duration) error {
	for i, d := range tiers {
		if d < time.Second || d%time.Second != 0 || i > 0 && d <= tiers[i-1] {
			return fmt.Errorf("kafka: %s is %v: tiers are whole seconds, ascending", field, tiers)
		}
	}
	return nil
}

// channel is what holds for one channel.
func (o *Options) channel(ch driver.Channel) ChannelOptions {
	ch.DeadLetter = false
	got := ChannelOptions{Ordering: o.Ordering, Retries: o.Retries}
	own, ok := o.Channels[ch.String()]
	if !ok && ch.Exchange != "" {
		own, ok = o.Channels[driver.Channel{Exchange: ch.Exchange}.String()]
	}
	if ok {
		got = own
	}
	got.MaxBlock = either(got.MaxBlock, either(o.MaxBlock, defaultMaxBlock))
	got.Groups = either(got.Groups, o.Groups)
	got.Retention = either(got.Retention, o.Retention)
	got.Compression = either(got.Compression, o.Compression)
	got.Partitions = either(got.Partitions, either(o.Partitions, defaultPartitions))
	for _, tiers := range [][]time.Duration{o.Tiers, defaultTiers} {
		if got.Tiers == nil {
			got.Tiers = slices.Clone(tiers)
		}
	}
	if got.TopicConfig == nil {
		got.TopicConfig = o.TopicConfig
	}
	if got.Ordering == Unordered && got.Retries == Block {
		got.Retries = Alone
	}
	return got
}

// tiered says that records of the channel may wait in tiers.
func (c *ChannelOptions) tiered() bool { return c.Retries != Block && len(c.Tiers) > 0 }

// either is a, unless that is zero.
func either[T comparable](a, b T) T {
	var zero T
	if a == zero {
		return b
	}
	return a
}
