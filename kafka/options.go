package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

const (
	brokersVariable   = "KAFKA_BOOTSTRAP_SERVERS"
	defaultBroker     = "localhost:9092"
	defaultClientID   = "godwit"
	defaultPartitions = 8
	// defaultMaxBlock is how long a failing record holds up its key before it becomes a dead letter.
	defaultMaxBlock = 10 * time.Minute
)

// defaultTiers are few, because each is a topic with as many partitions as the channel's own: a first backoff, and
// steps that keep a record that waits for an hour from being looked at every few seconds.
var defaultTiers = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// Options say how to reach Kafka and how channels lie on it. The zero value is the brokers of the environment's
// KAFKA_BOOTSTRAP_SERVERS, as `godwit local --kafka` prints it, or without it one at localhost:9092.
type Options struct {
	// Brokers are host:port of some of the brokers; the client finds the others. Empty: as above.
	Brokers []string
	// ClientID is the name under which brokers see the clients, in logs and quotas; "": godwit.
	ClientID string
	// Rack is where the clients are. Brokers may then serve them from the nearest replica: set it where traffic between
	// zones costs money.
	Rack string
	// TLS encrypts connections; nil: they are not encrypted.
	TLS *tls.Config
	// SASL authenticates; nil: the clients are anonymous, or known by their certificate.
	SASL *SASL
	// Client are options of franz-go for all clients, applied last: a dialer, metrics, timeouts. A group among them is
	// refused, since the group is the channel's name.
	Client []kgo.Opt
	// Logger gets what the client warns of, and topics that were created again; nil: nobody does.
	Logger *slog.Logger
	// Namespace is put in front of every topic's and group's name: prod.orders. Set it where several environments share
	// brokers. It had better not be an exchange's name: channel y in namespace x and channel x.y without one have
	// groups of the same name.
	Namespace string
	// Replication is how many brokers have a copy of a topic that is created; 0: the broker's default.
	Replication int

	// The settings of channels, each as described at ChannelOptions. They hold for every channel that Channels does not
	// say something else for; zero: the default that is named there.
	Ordering      Ordering
	Retries       Retries
	MaxBlock      time.Duration
	Tiers         []time.Duration
	GroupProtocol GroupProtocol
	Partitions    int
	Retention     time.Duration
	Compression   string
	TopicConfig   map[string]string

	// InstanceID makes members static: one that comes back within the session timeout finds its partitions again,
	// without a rebalance. It must be another one for each process, and the same one after its restart. A channel's
	// name is added to it. "": members are dynamic.
	InstanceID string
	// SessionTimeout is how long a member may be silent before its partitions are given to others; 0: 45 s. A shorter
	// one makes a crash felt for less long, and a slow network a rebalance.
	SessionTimeout time.Duration

	// RetryQueue and DeadLetterQueue take what comes back later and what was rejected; nil: topics. Set them where
	// topics cannot be had, or in tests.
	RetryQueue      RetryQueue
	DeadLetterQueue DeadLetterQueue

	// Channels are what is different for single channels, by name as users spell it: orders, wishlist_events.mobile.
	// What wishlist_events.* says holds for all of its channels that have no entry of their own, and for its topic.
	Channels map[string]ChannelOptions
}

// ChannelOptions are what is different for one channel. A field that is zero is as in the Options of the backend. What
// the comments call the default holds where both are zero.
type ChannelOptions struct {
	// Ordering is what is handled one after another; by default OrderByKey.
	Ordering Ordering
	// Retries is what a retry means for later records of its key; by default RetryBlock.
	Retries Retries
	// MaxBlock is how long RetryBlock holds a key before its failing record becomes a dead letter; by default ten
	// minutes.
	MaxBlock time.Duration
	// Tiers are how long records can wait in topics, ascending: each is a topic with as many partitions as the
	// channel's own. By default 5 s, 1 m, 10 m and 1 h. Empty, but not nil: there are none, and this process holds
	// every retry.
	Tiers []time.Duration
	// GroupProtocol is how members of the channel's group get their partitions; by default GroupClassic.
	GroupProtocol GroupProtocol

	// Partitions is for topics that are created; by default 8. Those that exist keep theirs: another number would give
	// keys other partitions.
	Partitions int
	// Retention is how long topics keep records; negative: without end; by default as the broker says. Dead letters and
	// tiers keep theirs for 14 days at least.
	Retention time.Duration
	// Compression is compression.type of the topics, and how producers compress; by default producer, and not at all.
	Compression string
	// TopicConfig is more of a topic's configuration, as Kafka spells it; by default nothing.
	TopicConfig map[string]string
}

// Ordering says what is handled one after another. Zero is no value of it: it stands for that of the backend, or the
// default.
type Ordering uint8

const (
	OrderByKey       Ordering = iota + 1 // records of one key; others beside them
	OrderByPartition                     // records of one partition
	// OrderNone orders nothing: the key of a record is its tenant, for fairness, and delays are possible.
	OrderNone
)

// Retries says what a retry means for later records of its key. Zero is as with Ordering.
type Retries uint8

const (
	// RetryBlock keeps them waiting, in this process, for MaxBlock at most. Where nothing is ordered, nothing waits,
	// and the retry waits in a tier, as with RetryAlone.
	RetryBlock Retries = iota + 1
	// RetryPark lets the retry wait in a tier, and later records of its key behind it, until it has come back.
	RetryPark
	// RetryAlone lets the retry wait in a tier while later records of its key are handled.
	RetryAlone
)

// GroupProtocol says how the members of a group get their partitions. Zero is as with Ordering.
type GroupProtocol uint8

const (
	GroupClassic  GroupProtocol = iota + 1 // assigned by one of the members, cooperatively and sticky
	GroupConsumer                          // assigned by the broker (KIP-848, Kafka 4.0 and later)
	// GroupShare is for channels of OrderNone: brokers hand single records out to whoever asks (KIP-932, Kafka 4.2 and
	// later), so there can be more consumers than partitions.
	GroupShare
)

// SASL says how to authenticate.
type SASL struct {
	Mechanism      string // PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER
	User, Password string
	Token          func(ctx context.Context) (string, error) // of OAUTHBEARER
}

func (o *Options) check() error {
	if o.Namespace != "" && !part.Legal(o.Namespace) {
		return fmt.Errorf("kafka: Options.Namespace is %q: use letters, digits, '_' and '-'", o.Namespace)
	}
	if o.Replication < 0 || o.SessionTimeout < 0 {
		return fmt.Errorf("kafka: Replication and SessionTimeout of Options cannot be negative")
	}
	own := o.shared()
	if err := own.check("Options"); err != nil {
		return err
	}
	for name, ch := range o.Channels {
		if err := ch.check(fmt.Sprintf("Options.Channels[%q]", name)); err != nil {
			return err
		}
	}
	return nil
}

// check refuses what cannot be; where is how the options are called.
func (c *ChannelOptions) check(where string) error {
	switch {
	case c.Partitions < 0 || c.MaxBlock < 0:
		return fmt.Errorf("kafka: Partitions and MaxBlock of %s cannot be negative", where)
	case c.Ordering > OrderNone:
		return fmt.Errorf("kafka: %s.Ordering is %d: use OrderByKey, OrderByPartition or OrderNone", where, c.Ordering)
	case c.Retries > RetryAlone:
		return fmt.Errorf("kafka: %s.Retries is %d: use RetryBlock, RetryPark or RetryAlone", where, c.Retries)
	case c.GroupProtocol > GroupShare:
		return fmt.Errorf("kafka: %s.GroupProtocol is %d: use GroupClassic, GroupConsumer or GroupShare", where,
			c.GroupProtocol)
	}
	return checkTiers(where+".Tiers", c.Tiers)
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

// shared are the settings of all channels that have none of their own.
func (o *Options) shared() ChannelOptions {
	return ChannelOptions{
		Ordering: o.Ordering, Retries: o.Retries, MaxBlock: o.MaxBlock, Tiers: o.Tiers,
		GroupProtocol: o.GroupProtocol,
		Partitions:    o.Partitions, Retention: o.Retention, Compression: o.Compression, TopicConfig: o.TopicConfig,
	}
}

// channel is what holds for one channel: what its own options say, where they say nothing the backend's, and then the
// defaults.
func (o *Options) channel(ch driver.Channel) ChannelOptions {
	ch.DeadLetter = false
	own, ok := o.Channels[ch.String()]
	if !ok && ch.Exchange != "" {
		own = o.Channels[driver.Channel{Exchange: ch.Exchange}.String()]
	}
	got := own.or(o.shared()).or(ChannelOptions{
		Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: defaultMaxBlock,
		Tiers:         defaultTiers,
		GroupProtocol: GroupClassic, Partitions: defaultPartitions,
	})
	got.Tiers = slices.Clone(got.Tiers)
	if got.Ordering == OrderNone && got.Retries == RetryBlock {
		got.Retries = RetryAlone
	}
	return got
}

// or takes from others what is zero.
func (c ChannelOptions) or(others ChannelOptions) ChannelOptions {
	c.Ordering = cmp.Or(c.Ordering, others.Ordering)
	c.Retries = cmp.Or(c.Retries, others.Retries)
	c.MaxBlock = cmp.Or(c.MaxBlock, others.MaxBlock)
	c.GroupProtocol = cmp.Or(c.GroupProtocol, others.GroupProtocol)
	c.Partitions = cmp.Or(c.Partitions, others.Partitions)
	c.Retention = cmp.Or(c.Retention, others.Retention)
	c.Compression = cmp.Or(c.Compression, others.Compression)
	if c.Tiers == nil {
		c.Tiers = others.Tiers
	}
	if c.TopicConfig == nil {
		c.TopicConfig = others.TopicConfig
	}
	return c
}

// tiered says that records of the channel may wait in tiers.
func (c *ChannelOptions) tiered() bool { return c.Retries != RetryBlock && len(c.Tiers) > 0 }
