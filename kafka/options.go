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
	// Brokers are host:port of some of the brokers; the client finds the others. Set them when they are not those of
	// KAFKA_BOOTSTRAP_SERVERS. Empty: those of that variable, or localhost:9092.
	Brokers []string
	// ClientID is the name of the clients in logs and quotas of the brokers; "": godwit. Set it to tell applications
	// apart there.
	ClientID string
	// Rack is where the clients are, so that brokers can serve them from the nearest replica. Set it when traffic
	// between zones costs money.
	Rack string
	// TLS encrypts connections; nil: they are not encrypted. Set it when the brokers require TLS, or the network is not
	// trusted.
	TLS *tls.Config
	// SASL authenticates the clients; nil: they are anonymous, or known by their certificate. Set it when the brokers
	// require it.
	SASL *SASL
	// Client are options of franz-go for all clients, applied last. Set them for what has no option here: a dialer,
	// metrics, timeouts. A group among them is refused, because the group is the channel's name.
	Client []kgo.Opt
	// Logger gets the warnings of the client, and topics that were created again. Set it to send them elsewhere, or to
	// a logger with slog.DiscardHandler to silence them. nil: slog.Default().
	Logger *slog.Logger
	// Namespace stands in front of the name of every topic and group: prod.orders. Set it when several environments
	// share brokers. It should not be the name of an exchange: channel y in namespace x and channel x.y without one
	// have groups of the same name.
	Namespace string
	// Replication is how many brokers have a copy of a topic that is created; 0: the default of the broker. Set it when
	// that default is not what your data need.
	Replication int

	// RecreateTopics creates a channel's topic again that is deleted while a consumer or producer uses it, with the
	// partitions, replicas and configuration that it had. Set it when nobody else creates the topics. false: consumers
	// and producers wait until somebody has created the topic.
	RecreateTopics bool

	// The settings of channels, each as described at ChannelOptions. They apply to every channel for which Channels
	// does not say something else; zero: the default that is named there.

	// Ordering is what is handled one after another. Change it as described at [ChannelOptions].
	Ordering Ordering
	// Retries is what a retry means for later records of its key. Change it as described at [ChannelOptions].
	Retries Retries
	// MaxBlock is how long RetryBlock holds a key. Change it as described at [ChannelOptions].
	MaxBlock time.Duration
	// Tiers are how long records can wait in topics. Change them as described at [ChannelOptions].
	Tiers []time.Duration
	// GroupProtocol is how members of a group get their partitions. Change it as described at [ChannelOptions].
	GroupProtocol GroupProtocol
	// Partitions is the number of partitions of topics that are created. Change it as described at [ChannelOptions].
	Partitions int
	// Retention is how long topics keep records. Change it as described at [ChannelOptions].
	Retention time.Duration
	// Compression is how records are compressed. Change it as described at [ChannelOptions].
	Compression string
	// TopicConfig is more of the configuration of topics. Change it as described at [ChannelOptions].
	TopicConfig map[string]string

	// InstanceID makes members static: one that returns within SessionTimeout gets its partitions again, without a
	// rebalance. Set it when deployments should not cause rebalances, to a value that differs in every process and is
	// the same after a restart. The name of the channel is added to it. "": members are dynamic.
	InstanceID string
	// SessionTimeout is how long a member may be silent before its partitions are given to others; 0: 45 s. Lower it
	// when the partitions of a crashed process must not wait that long. Then a slow network causes a rebalance sooner.
	SessionTimeout time.Duration

	// RetryQueue takes records that are retried later; nil: topics, the tiers. Set it when topics cannot be created, or
	// in tests.
	RetryQueue RetryQueue
	// DeadLetterQueue takes rejected records; nil: topics. Set it when topics cannot be created, or in tests.
	DeadLetterQueue DeadLetterQueue

	// Channels are the settings of single channels, by the name that users write: orders, wishlist_events.mobile. Set
	// an entry when a channel needs something else than the rest. The entry wishlist_events.* applies to the topic, and
	// to all of its channels without an entry of their own.
	Channels map[string]ChannelOptions
}

// ChannelOptions are what is different for one channel. A field that is zero is as in the Options of the backend. What
// the comments call the default holds where both are zero.
type ChannelOptions struct {
	// Ordering is what is handled one after another; by default OrderByKey. Choose OrderByPartition when handlers
	// depend on the order of all records of a partition, and OrderNone when no order is needed.
	Ordering Ordering
	// Retries is what a retry means for later records of its key; by default RetryBlock. Choose RetryPark when
	// failures may last for longer than MaxBlock, and RetryAlone when later records need not wait.
	Retries Retries
	// MaxBlock is how long RetryBlock holds a key before its failing record is rejected; by default 10 min. Raise it
	// when what handlers need may be down for longer, and lower it when a key must not stand still for that long. A
	// consumer whose backoff is known to be longer is refused.
	MaxBlock time.Duration
	// Tiers are how long records can wait in topics, ascending, in whole seconds: each is a topic with as many
	// partitions as the channel's own. By default 5 s, 1 min, 10 min and 1 h. A retry of an ordered channel that is
	// shorter than the first tier is held in this process, and its key waits. A record whose retry is longer than the
	// last tier waits in tiers one after another. Change them when the backoff has other
	// steps. Empty, but not nil: there are none, and this process holds every retry.
	Tiers []time.Duration
	// GroupProtocol is how members of the channel's group get their partitions; by default GroupClassic. Choose
	// GroupConsumer when the brokers support it and rebalances of large groups take too long, and GroupShare when a
	// channel of OrderNone needs more consumers than partitions.
	GroupProtocol GroupProtocol

	// Partitions is the number of partitions of topics that are created; by default 8. Raise it when more processes
	// should share the channel. Topics that exist keep theirs, because another number would move keys to other
	// partitions.
	Partitions int
	// Retention is how long topics keep records; negative: without end; by default as the broker says. Set it to longer
	// than consumers may be down. Dead letters and tiers keep theirs for at least 14 days.
	Retention time.Duration
	// Compression is compression.type of the topics, and how producers compress; by default producer, and not at all.
	// Set it when traffic or disks cost more than processor time.
	Compression string
	// TopicConfig is more of the configuration of the topics, as Kafka names it; by default none. Set it for
	// what has no option here.
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
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. Set it to what the brokers require.
	Mechanism string
	// User and Password are the credentials of PLAIN and SCRAM. Set them unless Mechanism is OAUTHBEARER.
	User, Password string
	// Token returns the token of OAUTHBEARER, and is called for every connection. Set it for that mechanism.
	Token func(ctx context.Context) (string, error)
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
