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
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

const (
	defaultBroker     = "localhost:9092"
	defaultClientID   = "godwit"
	defaultPartitions = 8
	// defaultMaxBlock is how long a failing record blocks its key before the record becomes a dead letter.
	defaultMaxBlock = 10 * time.Minute
)

// defaultTiers are few, because each is a topic with as many partitions as the channel's own. The first is a first
// backoff. The others are steps: without them a record that waits for an hour would be read every few seconds.
var defaultTiers = []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// Options configure the connection to Kafka, and how channels use topics. The zero value uses the brokers in the
// environment variable KAFKA_BOOTSTRAP_SERVERS, as `godwit local --kafka` prints it, or else localhost:9092.
//
// Without Brokers, the environment also says how to connect, as for the command godwit: KAFKA_SECURITY_PROTOCOL
// (PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL), KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD, and,
// for files in PEM, KAFKA_SSL_CA_LOCATION, KAFKA_SSL_CERTIFICATE_LOCATION and KAFKA_SSL_KEY_LOCATION.
type Options struct {
	// Brokers are the addresses (host:port) of some of the brokers; the client finds the others. Set them when the
	// connection is not described by the environment. Empty: the addresses in KAFKA_BOOTSTRAP_SERVERS, or
	// localhost:9092.
	Brokers []string
	// ClientID is the name of the clients in the brokers' logs and quotas; "": godwit. Set it to distinguish
	// applications there.
	ClientID string
	// Rack is the location of the clients: brokers let them read from the nearest replica. Set it when traffic between
	// zones costs money.
	Rack string
	// TLS encrypts connections; nil: they are not encrypted, unless the environment says so. Set it when the brokers
	// require TLS, or the network is not trusted.
	TLS *tls.Config
	// SASL authenticates the clients; nil: they are anonymous, or their certificate identifies them, unless the
	// environment says otherwise. Set it when the brokers require it.
	SASL *SASL
	// Client are options of franz-go for all clients, applied last. Set them for what has no option here: a dialer,
	// metrics, timeouts. Open refuses an option with a group, because the group has the channel's name, or the one in
	// Names.
	Client []kgo.Opt
	// Store keeps the bodies of messages that are too large for their topic: open one with s3store.Open. Set it when
	// messages can be larger than max.message.bytes less 1 KiB, for producers and consumers. nil: such a message is an
	// error of Send, and a received pointer is rejected.
	Store driver.Store
	// Logger gets the warnings of the client, and an error for each topic that was created again; nil: slog.Default().
	// Set it to use another logger, or one with slog.DiscardHandler for no log.
	Logger *slog.Logger
	// Namespace is put before the name of every topic and group: prod.orders. Set it when several environments share
	// brokers. Do not use the name of an exchange: channel y in namespace x, and channel x.y without a namespace, have
	// groups of the same name.
	Namespace string
	// Names maps channels to topics and groups that exist, by the channel's name: orders, wishlist_events.*,
	// wishlist_events.mobile. Set an entry when a topic or a group has another name than the channel would give it.
	Names map[string]Resource
	// Replication is the number of replicas of a topic that Godwit creates; 0: the default of the brokers. Set it when
	// your data need more replicas than that default.
	Replication int

	// RecreateTopics creates a channel's topic again if it is deleted while a consumer or producer uses it, with the
	// partitions, replicas and configuration that it had. Set it when no other program creates the topics. false:
	// consumers and producers wait until the topic exists again.
	RecreateTopics bool

	// ChannelOptions are the settings of all channels. Set a field when most channels need another value than its
	// default; Channels has the exceptions.
	ChannelOptions

	// InstanceID makes members static: a member that returns within SessionTimeout gets its partitions again, without a
	// rebalance. Set it when deployments should not cause rebalances, to a value that differs between processes and
	// stays the same after a restart. Godwit adds the channel's name to it. With godwit.Transform it also ends the open
	// transaction of a crashed process at its restart, instead of after 15 s. "": members are dynamic.
	InstanceID string
	// SessionTimeout is how long a member may be silent before the group gives its partitions to others; 0: 45 s. Lower
	// it when the partitions of a crashed process must not wait for 45 s. With a low value, a slow network causes
	// rebalances earlier.
	SessionTimeout time.Duration

	// WakeFromProducers lets producers, too, send on the messages of their channels that wait for their time
	// (docs/later.md), while they are open. Set it where no consumer of Godwit runs all the time. false: consumers do
	// it.
	WakeFromProducers bool

	// CommitInterval is the longest time between two commits of finished records; 0: 1 s, and 100 ms with transactions.
	// Lower it when a crash should repeat less finished work, which costs requests. With godwit.Transform it delays the
	// results.
	CommitInterval time.Duration
	// CommitRecords is the number of finished records that are committed before CommitInterval is over; 0: 1,000. Above
	// 100,000 records a second, commits are 10 ms apart. While four times as many records are finished and not
	// committed, because a broker is away for example, no record is admitted. Lower it when a crash should repeat fewer
	// records, which costs requests.
	CommitRecords int

	// RetryQueue takes records that are retried later; nil: topics, the tiers. Set it when topics cannot be created, or
	// in tests.
	RetryQueue RetryQueue
	// DeadLetterQueue takes rejected records; nil: a topic. Set it when topics cannot be created, or in tests.
	DeadLetterQueue DeadLetterQueue

	// Channels are the settings of single channels, by the channel's name: orders, wishlist_events.mobile. Set an entry
	// when a channel needs other settings than the rest. The entry wishlist_events.* applies to the topic, and to each
	// of its channels that has no entry.
	Channels map[string]ChannelOptions
}

// ChannelOptions are the settings of one channel, or as a part of Options those of all channels. A zero field of one
// channel has the value of the same field in Options. The comments name the default, which applies if both are zero.
type ChannelOptions struct {
	// Ordering is the unit that is handled in order; by default OrderByKey. Choose OrderByPartition when handlers
	// depend on the order of all records of a partition, and OrderNone when no order is needed.
	Ordering Ordering
	// Retries decides what a retry means for later records of its key; by default RetryBlock. Choose RetryPark when
	// failures may last longer than MaxBlock, and RetryAlone when later records need not wait.
	Retries Retries
	// MaxBlock is how long RetryBlock holds a key before its failing record is rejected; by default 10 min. Raise it
	// when a dependency of the handlers may be down for longer, and lower it when a key must not wait for 10 min. A
	// consumer whose backoff is known to be longer is refused.
	MaxBlock time.Duration
	// Tiers are the waiting times of the retry topics, ascending, in whole seconds; by default 5 s, 1 min, 10 min and 1
	// h. Change them when the backoff has other steps. Each tier is a topic with as many partitions as the channel's
	// own. On an ordered channel, this process holds a retry that is shorter than the first tier, and the key waits. A
	// retry that is longer than the last tier waits in several tiers, one after another. Empty, but not nil: there are
	// no tiers, and this process holds every retry.
	Tiers []time.Duration
	// NullKeys decides about the order of records without a key on a channel that is Ordered; by default
	// NullKeysInOrder. Choose NullKeysSpread when such records do not depend on each other.
	NullKeys NullKeys
	// GroupProtocol is how members of the channel's group get their partitions; by default GroupClassic. Choose
	// GroupConsumer when the brokers support it and rebalances of large groups take too long, and GroupShare when a
	// channel of OrderNone needs more consumers than partitions.
	GroupProtocol GroupProtocol
	// Assignor is that of programs without Godwit which are members of the channel's group; by default none, and a
	// consumer is refused while such members are there. Set it when you cannot stop them before Godwit starts. The
	// group uses it until the last of them has left, and then cooperative-sticky; meanwhile each rebalance takes all
	// partitions away from all members. Only for GroupClassic.
	Assignor Assignor
	// Start is where the channel's group begins if it has no commit; by default at the start of the log. Set it when
	// the topic has records from before that need no handling, or when the group must exist.
	Start Start

	// Partitions is the number of partitions of a topic that Godwit creates; by default 8. Raise it when more processes
	// should share the channel. An existing topic keeps its number, because another number would move keys to other
	// partitions.
	Partitions int
	// Retention is how long topics keep records; negative: without limit; by default the brokers' setting. Set it to
	// longer than consumers may be down. Dead letters and tiers keep their records for at least 14 days.
	Retention time.Duration
	// Compression is compression.type of the topics, and the codec of producers; by default producer, without a codec.
	// Set it when traffic or disks cost more than processor time.
	Compression string
	// BodyCompression is how the bodies of large messages are compressed in Options.Store; by default
	// BodyCompressionNone. Set it to BodyCompressionZstd for texts that compress well, if all consumers of the channel
	// use Godwit. Consumers read both, whatever they set.
	BodyCompression BodyCompression
	// TopicConfig has further settings of the topics, by Kafka's names; by default none. Set it for what has no option
	// here.
	TopicConfig map[string]string
}

// Ordering is the unit that is handled in order. The zero value means the backend's setting, or the default.
type Ordering uint8

const (
	OrderByKey       Ordering = iota + 1 // records of one key, concurrently with other keys
	OrderByPartition                     // all records of one partition
	// OrderNone keeps no order: the key of a record is its tenant, for fairness.
	OrderNone
)

// Retries decides what a retry means for later records of its key. The zero value means the backend's setting, or the
// default.
type Retries uint8

const (
	// RetryBlock holds the record in this process, and later records of its key wait, for at most MaxBlock. On a
	// channel without order no record waits for another, and the retry waits in a tier, as with RetryAlone.
	RetryBlock Retries = iota + 1
	// RetryPark lets the retry wait in a tier, and later records of its key behind it, until it is delivered again.
	RetryPark
	// RetryAlone lets the retry wait in a tier while later records of its key are handled.
	RetryAlone
)

// NullKeys decides about the order of records without a key. The zero value means the backend's setting, or the
// default.
type NullKeys uint8

const (
	// NullKeysInOrder handles the records without a key of one partition one after another. Producers send them to one
	// partition.
	NullKeysInOrder NullKeys = iota + 1
	// NullKeysSpread handles them concurrently, and producers spread them over the partitions.
	NullKeysSpread
)

// GroupProtocol decides how the members of a group get their partitions. The zero value means the backend's setting, or
// the default.
type GroupProtocol uint8

const (
	GroupClassic  GroupProtocol = iota + 1 // one of the members assigns them, cooperatively and sticky
	GroupConsumer                          // the broker assigns them (KIP-848, Kafka 4.0 and later)
	// GroupShare is for channels of OrderNone: brokers deliver single records to any member that requests some
	// (KIP-932, Kafka 4.2 and later), so there can be more consumers than partitions.
	GroupShare
)

// String is the protocol as errors name it.
func (p GroupProtocol) String() string {
	switch p {
	case GroupClassic:
		return "a classic group"
	case GroupConsumer:
		return "a group of the consumer protocol (KIP-848)"
	case GroupShare:
		return "a share group"
	}
	return fmt.Sprintf("GroupProtocol(%d)", uint8(p))
}

// Assignor is how the members of a classic group assign partitions if not all of them use Godwit. The zero value means
// cooperative-sticky alone.
type Assignor uint8

const (
	AssignorRange      Assignor = iota + 1 // the default of Kafka's own consumers and of librdkafka, and sarama's
	AssignorRoundRobin                     // librdkafka's, Kafka's and sarama's assignor of that name
)

var assignors = map[Assignor]func() kgo.GroupBalancer{
	AssignorRange: kgo.RangeBalancer, AssignorRoundRobin: kgo.RoundRobinBalancer,
}

// BodyCompression is how bodies are compressed in a store. The zero value means the backend's setting, or the default.
type BodyCompression uint8

const (
	BodyCompressionNone BodyCompression = iota + 1 // bodies are stored as they are
	BodyCompressionZstd                            // bodies are compressed with zstd
)

// SASL is how the clients authenticate.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, or AWS_MSK_IAM for Amazon MSK. Set it to what the
	// brokers require.
	Mechanism string
	// User and Password are the credentials of PLAIN and SCRAM. Set them for these mechanisms.
	User, Password string
	// Token returns the token for OAUTHBEARER; the client calls it for every connection. Set it for that mechanism.
	Token func(ctx context.Context) (string, error)
	// Credentials returns the keys for AWS_MSK_IAM; the client calls it for every connection. Set it for keys of a
	// role, such as those that the SDK's aws.CredentialsProvider returns. nil: the environment variables
	// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. The region is that in the brokers' names, or else
	// AWS_REGION.
	Credentials func(ctx context.Context) (AWSCredentials, error)
}

func (o *Options) check() error {
	if o.Namespace != "" && !part.Legal(o.Namespace) {
		return fmt.Errorf("kafka: Options.Namespace is %q: use letters, digits, '_' and '-'", o.Namespace)
	}
	if o.SASL != nil && o.SASL.Mechanism == mechanismAWS && o.TLS == nil && len(o.Client) == 0 {
		return fmt.Errorf("kafka: SASL.Mechanism is AWS_MSK_IAM, which MSK offers on encrypted connections only: set " +
			"Options.TLS, for example to &tls.Config{}, and use the port for IAM (9098, or 9198 from outside)")
	}
	if o.Replication < 0 || o.SessionTimeout < 0 || o.CommitInterval < 0 || o.CommitRecords < 0 {
		return fmt.Errorf("kafka: Replication, SessionTimeout, CommitInterval and CommitRecords of Options cannot be " +
			"negative")
	}
	if o.SessionTimeout > 0 && !o.times() {
		return fmt.Errorf("kafka: Options.SessionTimeout is %v and has no effect with GroupConsumer: leave it out, and "+
			"set group.consumer.session.timeout.ms of the brokers, or consumer.session.timeout.ms of the group",
			o.SessionTimeout)
	}
	if err := o.ChannelOptions.check("Options", o.GroupProtocol, o.Store != nil); err != nil {
		return err
	}
	for name, ch := range o.Channels {
		where := fmt.Sprintf("Options.Channels[%q]", name)
		if err := ch.check(where, cmp.Or(ch.GroupProtocol, o.GroupProtocol), o.Store != nil); err != nil {
			return err
		}
	}
	return nil
}

// times reports whether a member's own session timeout can have an effect: brokers set it for members of GroupConsumer.
func (o *Options) times() bool {
	if o.GroupProtocol != GroupConsumer {
		return true
	}
	for _, ch := range o.Channels {
		if ch.GroupProtocol != 0 && ch.GroupProtocol != GroupConsumer {
			return true
		}
	}
	return false
}

// check returns an error for an invalid value; where is the name of the options in the error, and protocol the one that
// applies with them.
func (c *ChannelOptions) check(where string, protocol GroupProtocol, store bool) error {
	switch {
	case c.Partitions < 0 || c.MaxBlock < 0:
		return fmt.Errorf("kafka: Partitions and MaxBlock of %s cannot be negative", where)
	case c.Ordering > OrderNone:
		return fmt.Errorf("kafka: %s.Ordering is %d: use OrderByKey, OrderByPartition or OrderNone", where, c.Ordering)
	case c.Retries > RetryAlone:
		return fmt.Errorf("kafka: %s.Retries is %d: use RetryBlock, RetryPark or RetryAlone", where, c.Retries)
	case c.NullKeys > NullKeysSpread:
		return fmt.Errorf("kafka: %s.NullKeys is %d: use NullKeysInOrder or NullKeysSpread", where, c.NullKeys)
	case c.GroupProtocol > GroupShare:
		return fmt.Errorf("kafka: %s.GroupProtocol is %d: use GroupClassic, GroupConsumer or GroupShare", where,
			c.GroupProtocol)
	case c.Assignor > AssignorRoundRobin:
		return fmt.Errorf("kafka: %s.Assignor is %d: use AssignorRange or AssignorRoundRobin", where, c.Assignor)
	case c.Assignor != 0 && protocol > GroupClassic:
		return fmt.Errorf("kafka: %s.Assignor has no effect in %s: leave it out, or set GroupProtocol to "+
			"GroupClassic", where, protocol)
	case c.BodyCompression > BodyCompressionZstd:
		return fmt.Errorf("kafka: %s.BodyCompression is %d: use BodyCompressionNone or BodyCompressionZstd", where,
			c.BodyCompression)
	case c.BodyCompression != 0 && !store:
		return fmt.Errorf("kafka: %s.BodyCompression has no effect without Options.Store: open one with s3store.Open",
			where)
	}
	if err := c.Start.check(where); err != nil {
		return err
	}
	return checkTiers(where+".Tiers", c.Tiers)
}

// checkTiers returns an error unless the tiers ascend and are whole seconds: the name of a tier's topic has its
// seconds.
func checkTiers(field string, tiers []time.Duration) error {
	for i, d := range tiers {
		if d < time.Second || d%time.Second != 0 || i > 0 && d <= tiers[i-1] {
			return fmt.Errorf("kafka: %s is %v: use whole seconds, in ascending order", field, tiers)
		}
	}
	return nil
}

// channel is the settings of one channel: for each field the channel's own, or else the backend's, or else the default.
func (o *Options) channel(ch driver.Channel) ChannelOptions {
	ch.DeadLetter, ch.Later = false, false
	own, ok := o.Channels[ch.String()]
	if !ok && ch.Exchange != "" {
		own = o.Channels[driver.Channel{Exchange: ch.Exchange}.String()]
	}
	got := own.or(o.ChannelOptions).or(ChannelOptions{
		Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: defaultMaxBlock,
		Tiers:    defaultTiers,
		NullKeys: NullKeysInOrder, GroupProtocol: GroupClassic, Partitions: defaultPartitions,
		BodyCompression: BodyCompressionNone,
	})
	got.Tiers = slices.Clone(got.Tiers)
	if got.GroupProtocol != GroupClassic {
		got.Assignor = 0
	}
	if got.Ordering == OrderNone && got.Retries == RetryBlock {
		got.Retries = RetryAlone
	}
	return got
}

// or fills zero fields from others.
func (c ChannelOptions) or(others ChannelOptions) ChannelOptions {
	c.Ordering = cmp.Or(c.Ordering, others.Ordering)
	c.Retries = cmp.Or(c.Retries, others.Retries)
	c.MaxBlock = cmp.Or(c.MaxBlock, others.MaxBlock)
	c.NullKeys = cmp.Or(c.NullKeys, others.NullKeys)
	c.GroupProtocol = cmp.Or(c.GroupProtocol, others.GroupProtocol)
	c.Assignor = cmp.Or(c.Assignor, others.Assignor)
	c.Start = cmp.Or(c.Start, others.Start)
	c.Partitions = cmp.Or(c.Partitions, others.Partitions)
	c.Retention = cmp.Or(c.Retention, others.Retention)
	c.Compression = cmp.Or(c.Compression, others.Compression)
	c.BodyCompression = cmp.Or(c.BodyCompression, others.BodyCompression)
	if c.Tiers == nil {
		c.Tiers = others.Tiers
	}
	if c.TopicConfig == nil {
		c.TopicConfig = others.TopicConfig
	}
	return c
}

// tiered reports whether records of the channel may wait in tiers.
func (c *ChannelOptions) tiered() bool { return c.Retries != RetryBlock && len(c.Tiers) > 0 }

// uses is how a channel uses its topics.
func (o *Options) uses(ch driver.Channel) layout.Use {
	set := o.channel(ch)
	u := layout.Use{
		Share:  set.GroupProtocol == GroupShare && !ch.DeadLetter && !ch.Later,
		Spread: set.NullKeys == NullKeysSpread, Zip: set.BodyCompression == BodyCompressionZstd,
		Partitions: set.Partitions, Retention: set.Retention, Compression: set.Compression,
		TopicConfig: set.TopicConfig, MaxBlock: set.MaxBlock,
	}
	if set.tiered() {
		u.Tiers = set.Tiers
	}
	ch.DeadLetter = false
	own := o.Channels[ch.String()]
	if ch.Exchange != "" {
		own = o.Channels[driver.Channel{Exchange: ch.Exchange}.String()].or(own)
	}
	u.Wished = cmp.Or(own.Partitions, o.Partitions)
	return u
}
