package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// Spec declares the channels of a system. Its fields are the keys of godwit.yaml; the texts in their tags are the
// descriptions in the published JSON Schema.
type Spec struct {
	// Name is the value of the tag topology; "": default. Set it when several files declare channels of one namespace.
	Name string `yaml:"name" doc:"The value of the tag topology. Without it: default."`
	// Namespace is a prefix of the name of every resource. Set it as the programs' backend options do.
	Namespace string `yaml:"namespace" doc:"A prefix of the name of every resource, as in the options of the backend."`
	// Owner is who looks after the channels. Set it so that costs and alerts have an address.
	Owner string `yaml:"owner" doc:"Who looks after the channels, as a tag of every resource."`
	// Environment is where the channels belong. Set it when several environments share an account.
	Environment string `yaml:"environment" doc:"Where the channels belong, such as production, as a tag."`
	// Payloads is where large messages have their bodies. Set it when messages can be larger than the service accepts.
	Payloads Payloads `yaml:"payloads" doc:"The store of the bodies of large messages."`
	// Decisions is where it is decided which messages are cancelled. Set it when messages can be cancelled, as
	// snssqs.Options.Decisions does. It only matters for policies of IAM.
	Decisions Decisions `yaml:"decisions" doc:"Where it is decided which messages are cancelled, for policies of IAM."`
	// Kafka is the settings that all topics share. Set it when the channels are on Kafka.
	Kafka Kafka `yaml:"kafka" doc:"Settings of all topics of Kafka; on SQS they have no effect."`
	// Defaults is the settings of channels that have no own. Set it for what most channels share.
	Defaults Channel `yaml:"defaults" doc:"Settings of the channels that do not have their own."`
	// Exchanges are the fan-out points, by name. Declare every exchange whose channels are declared.
	Exchanges map[string]Exchange `yaml:"exchanges" doc:"The fan-out points of one-to-many channels, by name."`
	// Channels are the queues, by name: orders, or wishlist_events.mobile. Declare every queue that has a consumer.
	Channels map[string]Channel `yaml:"channels" doc:"The queues by name: orders, or one of an exchange, wishes.mobile."`
	// Contexts are the connections of the command godwit, by name. They are no part of the topology: this package only
	// checks them.
	Contexts map[string]Context `yaml:"contexts" doc:"The connections of the command godwit; no part of the topology."`
}

// Payloads is the store of large messages.
type Payloads struct {
	// Bucket is the bucket. Set it as in s3store.Options.
	Bucket string `yaml:"bucket" doc:"The bucket, as in s3store.Options."`
	// Prefix begins the keys of its objects. Set it when others use the bucket, too.
	Prefix string `yaml:"prefix" doc:"The beginning of the keys of its objects."`
}

// Decisions is where it is decided which messages are cancelled.
type Decisions struct {
	// Bucket is the bucket. Set it as for s3store.OpenDecisions.
	Bucket string `yaml:"bucket" doc:"The bucket, as for s3store.OpenDecisions."`
	// Prefix begins the keys of its objects. Set it as for s3store.OpenDecisions, which needs one.
	Prefix string `yaml:"prefix" doc:"The beginning of the keys of its objects, such as decisions/."`
}

// Exchange declares the fan-out point of one-to-many channels.
type Exchange struct {
	// Ordered keeps the messages of an order key in order. Set it when order matters to any of its channels.
	Ordered bool `yaml:"ordered" doc:"Messages of one order key are kept in order, on all channels of the exchange."`
	// HighThroughput recognizes duplicates per order key. Set it when an ordered exchange needs more than 300 requests
	// a second.
	HighThroughput bool `yaml:"high_throughput" doc:"Recognize duplicates per order key instead of per exchange."`
	// KMSKey encrypts messages; "": the service's own encryption. Set it when you must control the key.
	KMSKey string `yaml:"kms_key" doc:"The id, alias or ARN of the key of KMS that encrypts the messages."`
	// Owner is who looks after it; "": the owner of the Spec. Set it where a team shares a file with others.
	Owner string `yaml:"owner" doc:"Who looks after it, if that is not the owner of the file."`
	// Tags are further tags. Set them when costs or permissions of the account depend on tags.
	Tags map[string]string `yaml:"tags" doc:"Further tags."`
	// Attributes are further attributes of its topic. Set them for what has no key here.
	Attributes map[string]string `yaml:"attributes" doc:"Further attributes of the topic, by SNS's names."`
	// Topic is an existing topic to use. Set it for a topic that Godwit must never change.
	Topic string `yaml:"topic" doc:"The ARN or name of a topic that exists, which is used and never changed."`
	// Kafka is the settings of its topic. Set it where they differ from those of the file.
	Kafka ChannelKafka `yaml:"kafka" doc:"Settings of the topic of Kafka."`
}

// Channel declares one queue and its consumer.
type Channel struct {
	// Ordered keeps the messages of an order key in order. Set it when order matters; a queue of an exchange has the
	// order of the exchange.
	Ordered bool `yaml:"ordered" doc:"Messages of one order key are handled in order; of an exchange's queue, as there."`
	// HighThroughput recognizes duplicates per order key. Set it when an ordered channel needs more than 300 requests a
	// second.
	HighThroughput bool `yaml:"high_throughput" doc:"Recognize duplicates per order key instead of per channel."`
	// Delay is how long every message waits. Set it when what a message tells of becomes visible later.
	Delay time.Duration `yaml:"delay" doc:"How long every message waits before it can be received: at most 15m."`
	// Retention is how long messages are kept; 0: the longest. Shorten it when old messages must not be handled.
	Retention time.Duration `yaml:"retention" doc:"How long a message that is not handled is kept: 60s to 14d."`
	// DeadLetterRetention is how long dead letters are kept; 0: the longest. Shorten it when data must be gone.
	DeadLetterRetention time.Duration `yaml:"dead_letter_retention" doc:"How long dead letters are kept: 60s to 14d."`
	// Lease is how long the service leaves a message to a consumer; 0: 30 s. Shorten it when a crash must cost less.
	Lease time.Duration `yaml:"lease" doc:"How long a message is left to a consumer before it renews the lease: 3s to 12h."`
	// ProcessingTimeout is how long a handler may run; 0: 5 min. Set it to the longest time that a handler needs.
	ProcessingTimeout time.Duration `yaml:"processing_timeout" doc:"How long a handler may run: 1s to 30m."`
	// MaxAttempts is how many failures reject a message; 0: 3. Raise it when failures are often temporary.
	MaxAttempts int `yaml:"max_attempts" doc:"How many failures of a message lead to its rejection."`
	// DelayTolerance is how old a delivery may be when its handler starts; 0: 2 min. Set it to what is acceptable.
	DelayTolerance time.Duration `yaml:"delay_tolerance" doc:"How old a message may be when its handler starts."`
	// NoDeadLetters keeps failed messages in the queue. Set it when no message may be passed over.
	NoDeadLetters bool `yaml:"no_dead_letters" doc:"The consumer stops at a failed message instead of rejecting it."`
	// Filter selects messages of an exchange. Set it when the consumer needs only some.
	Filter Filter `yaml:"filter" doc:"The messages of the exchange that the queue gets, by routing key."`
	// KMSKey encrypts messages; "": the service's own encryption. Set it when you must control the key.
	KMSKey string `yaml:"kms_key" doc:"The id, alias or ARN of the key of KMS that encrypts the messages."`
	// Owner is who looks after it; "": the owner of the Spec. Set it where a team shares a file with others.
	Owner string `yaml:"owner" doc:"Who looks after it, if that is not the owner of the file."`
	// Critical says that an alarm wakes a person up. Set it when waiting until the morning is too late.
	Critical bool `yaml:"critical" doc:"An alarm wakes a person up."`
	// Alarms are when to alert. Set them where the defaults of the alerts do not fit.
	Alarms Alarms `yaml:"alarms" doc:"From when on there is an alarm."`
	// Keep is why a sweep keeps the channel although nobody uses it. Set it for channels that are used rarely.
	Keep string `yaml:"keep" doc:"Why a sweep keeps the channel although nothing uses it."`
	// Tags are further tags. Set them when costs or permissions of the account depend on tags.
	Tags map[string]string `yaml:"tags" doc:"Further tags."`
	// Attributes are further attributes of its queue, but not of its dead letters'. Set them for what has no key here.
	Attributes map[string]string `yaml:"attributes" doc:"Further attributes of the queue, by SQS's names."`
	// Queue is an existing queue to use. Set it for a queue that Godwit must never change.
	Queue string `yaml:"queue" doc:"The URL, ARN or name of a queue that exists, which is used and never changed."`
	// DeadLetters is an existing queue for dead letters. Set it beside Queue.
	DeadLetters string `yaml:"dead_letters" doc:"The URL, ARN or name of the existing queue for rejected messages."`
	// Kafka is the settings of its topic. Set it where they differ from those of the file.
	Kafka ChannelKafka `yaml:"kafka" doc:"Settings of the topic and of its consumers on Kafka."`
}

// Filter selects messages by their routing key, as godwit.Filter does.
type Filter struct {
	// Exact are routing keys that pass. Set it when the consumer handles a few known kinds.
	Exact []string `yaml:"exact" doc:"Routing keys that pass."`
	// Prefix are beginnings of routing keys that pass. Set it when keys are hierarchical.
	Prefix []string `yaml:"prefix" doc:"Beginnings of routing keys that pass."`
	// Exclude are routing keys that do not pass. Set it alone, when all others pass.
	Exclude []string `yaml:"exclude" doc:"Routing keys that do not pass, while all others do."`
}

// Alarms are thresholds.
type Alarms struct {
	// Age is the age of the oldest message. Set it to a delay that is not acceptable.
	Age time.Duration `yaml:"age" doc:"The age of the oldest waiting message."`
	// Depth is the number of waiting messages. Set it to more than a usual backlog.
	Depth int `yaml:"depth" doc:"The number of waiting messages."`
	// DeadLetters is the number of dead letters. Raise it when some are usual.
	DeadLetters int `yaml:"dead_letters" doc:"The number of dead letters."`
}

// Kafka is the settings that all topics share.
type Kafka struct {
	// Replication is the replicas of new topics; 0: the brokers' default. Set it when data need more.
	Replication  int `yaml:"replication" doc:"The number of replicas of new topics."`
	ChannelKafka `yaml:",inline"`
}

// ChannelKafka is the settings of one topic and its consumers; kafka.ChannelOptions explains them.
type ChannelKafka struct {
	// Partitions is the number of partitions; 0: 8 for new topics. Raise it for more consumers; it cannot be lowered.
	Partitions int `yaml:"partitions" doc:"The number of partitions. It can only grow, and then keys move."`
	// Retention is how long records are kept. Set it to longer than consumers may be down.
	Retention time.Duration `yaml:"retention" doc:"How long topics keep records."`
	// Ordering is the unit that is handled in order. Change it when that is not the key.
	Ordering string `yaml:"ordering" doc:"The unit that is handled in order." enum:"key,partition,none"`
	// Retries decides what a retry means for its key. Change it when failures may last long.
	Retries string `yaml:"retries" doc:"What a retry means for later records of its key." enum:"block,park,alone"`
	// Tiers are the waiting times of retry topics. Change them when the backoff has other steps.
	Tiers []time.Duration `yaml:"tiers" doc:"The waiting times of the retry topics, ascending, in whole seconds."`
	// Config has further settings of the topics. Set it for what has no key here.
	Config map[string]string `yaml:"config" doc:"Further settings of the topics, by Kafka's names."`
}

// defaultName is the tag of a topology without a name.
const defaultName = "default"

// name is the value of the tag.
func (s *Spec) name() string {
	if s.Name == "" {
		return defaultName
	}
	return s.Name
}

// ChannelNames returns the names of the declared channels in order.
func (s *Spec) ChannelNames() []string { return slices.Sorted(maps.Keys(s.Channels)) }

// ExchangeNames returns the names of the declared exchanges in order.
func (s *Spec) ExchangeNames() []string { return slices.Sorted(maps.Keys(s.Exchanges)) }

// orderedness is whether a channel is ordered: a queue of an exchange is as its exchange is.
func (s *Spec) orderedness(name string) bool {
	if exchange, _, many := cutName(name); many {
		return s.Exchanges[exchange].Ordered
	}
	return s.Channels[name].Ordered
}

// Consumer returns the options of a declared channel's consumer. Add to them what is not the channel's: the
// concurrency, hooks, a logger.
func (s *Spec) Consumer(channel string) (*godwit.ConsumerOptions, error) {
	c, declared := s.Channels[channel]
	if !declared {
		return nil, s.undeclared(channel)
	}
	return &godwit.ConsumerOptions{
		Ordered: s.orderedness(channel), HighThroughput: c.HighThroughput,
		Delay: c.Delay, Retention: c.Retention, DeadLetterRetention: c.DeadLetterRetention,
		Lease: c.Lease, ProcessingTimeout: c.ProcessingTimeout, MaxAttempts: c.MaxAttempts,
		DelayTolerance: c.DelayTolerance, NoDeadLetters: c.NoDeadLetters,
		Filter:     godwit.Filter{Exact: c.Filter.Exact, Prefix: c.Filter.Prefix, Exclude: c.Filter.Exclude},
		Encryption: c.KMSKey, Ownership: s.ownership(&c),
	}, nil
}

// Producer returns the options of a producer that sends to a declared channel or exchange, orders or wishes.*.
func (s *Spec) Producer(channel string) (*godwit.ProducerOptions, error) {
	if exchange, second, many := cutName(channel); many && second == "*" {
		e, declared := s.Exchanges[exchange]
		if !declared {
			return nil, s.undeclared(channel)
		}
		return &godwit.ProducerOptions{
			Ordered: e.Ordered, HighThroughput: e.HighThroughput, Encryption: e.KMSKey,
			Ownership: godwit.Ownership{
				Owner: cmp.Or(e.Owner, s.Owner), Environment: s.Environment, Tags: maps.Clone(e.Tags),
			},
		}, nil
	}
	c, declared := s.Channels[channel]
	if !declared {
		return nil, s.undeclared(channel)
	}
	return &godwit.ProducerOptions{
		Ordered: c.Ordered, HighThroughput: c.HighThroughput, Encryption: c.KMSKey, Ownership: s.ownership(&c),
	}, nil
}

func (s *Spec) ownership(c *Channel) godwit.Ownership {
	o := godwit.Ownership{
		Owner: cmp.Or(c.Owner, s.Owner), Environment: s.Environment, Critical: c.Critical,
		AlarmAge: c.Alarms.Age, AlarmDepth: c.Alarms.Depth, AlarmDeadLetters: c.Alarms.DeadLetters,
		Tags: maps.Clone(c.Tags),
	}
	if c.Keep != "" {
		if o.Tags == nil {
			o.Tags = map[string]string{}
		}
		o.Tags["keep"] = c.Keep
	}
	return o
}

// resources are the specifications of everything that is declared, in the order of their dependencies: exchanges
// first, because their queues are subscribed to them.
func (s *Spec) resources() (all []driver.ChannelSpec, err error) {
	add := func(native map[string]string, one driver.ChannelSpec, oneErr error) {
		one.Mode, one.Owner, one.Native = driver.Declare, true, native
		if one.Tags == nil {
			one.Tags = map[string]string{}
		}
		one.Tags[driver.TagTopology] = s.name()
		all, err = append(all, one), cmp.Or(err, oneErr)
	}
	for _, name := range s.ExchangeNames() {
		o, oneErr := s.Producer(name + ".*")
		if oneErr != nil {
			return nil, oneErr
		}
		one, oneErr := o.Spec(name + ".*")
		add(s.Exchanges[name].Attributes, one, oneErr)
	}
	for _, name := range s.ChannelNames() {
		o, oneErr := s.Consumer(name)
		if oneErr != nil {
			return nil, oneErr
		}
		one, oneErr := o.Spec(name)
		add(s.Channels[name].Attributes, one, oneErr)
	}
	return all, err
}

// undeclared is the error for a name that is not declared.
func (s *Spec) undeclared(name string) error {
	names := s.ChannelNames()
	for _, exchange := range s.ExchangeNames() {
		names = append(names, exchange+".*")
	}
	return fmt.Errorf("topology: %q is not declared%s: add it to the file", name, suggestion(name, names))
}
