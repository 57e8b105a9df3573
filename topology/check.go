package topology

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/internal/native"
	"github.com/godwitmq/godwit/internal/part"
)

// Limits of SQS, SNS and Godwit.
const (
	maxDelay      = 15 * time.Minute
	minRetention  = time.Minute
	maxRetention  = 14 * day
	shortestLease = 3 * time.Second
	maxValues     = 150 // of a filter policy
	maxFilters    = 200 // of a topic
)

// Check returns every mistake of a declaration that a program has made, as a [*MistakesError]. [Read] has checked its
// own.
func (s *Spec) Check() error {
	var m mistakes
	s.check(&m)
	return m.err()
}

// check adds what is wrong to m.
func (s *Spec) check(m *mistakes) {
	c := checker{s, m, map[string]string{}, map[string]string{}}
	c.whole()
	for name, context := range s.Contexts {
		c.context("contexts."+name, &context)
	}
	for _, name := range s.ExchangeNames() {
		c.exchange(name)
	}
	filters := map[string]int{}
	for _, name := range s.ChannelNames() {
		c.channel(name)
		if exchange, _, many := cutName(name); many && !s.Channels[name].Filter.empty() {
			if filters[exchange]++; filters[exchange] == maxFilters+1 {
				m.add("channels."+name+".filter", "exchange %s has more than %d channels with filters, and SNS allows "+
					"no more: let some of them receive everything", exchange, maxFilters)
			}
		}
	}
	c.deadLetters()
}

func (f Filter) empty() bool { return len(f.Exact)+len(f.Prefix)+len(f.Exclude) == 0 }

// checker finds what is wrong in a declaration.
type checker struct {
	*Spec
	*mistakes
	topics map[string]string // the exchange that has a name of SNS
	taken  map[string]string // the channel that has a name of SQS
}

// bucketName is the name of a bucket of S3.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func (c *checker) whole() {
	if err := part.Check(c.Namespace); c.Namespace != "" && err != nil {
		c.add("namespace", "%q cannot begin a name: %v", c.Namespace, err)
	}
	c.tagValue("name", c.Name)
	c.tagValue("owner", c.Owner)
	c.tagValue("environment", c.Environment)
	if c.Payloads.Prefix != "" && c.Payloads.Bucket == "" {
		c.add("payloads.prefix", "it has no effect without bucket: name the bucket as well")
	}
	if name := c.Payloads.Bucket; name != "" && !bucketName.MatchString(name) {
		c.add("payloads.bucket", "%q is no name of a bucket: it has 3 to 63 lower-case letters, digits, '-' and '.'", name)
	}
	c.decisions()
	if c.Kafka.Replication < 0 {
		c.add("kafka.replication", "it cannot be negative")
	}
	c.kafka("kafka", &c.Kafka.ChannelKafka)
	d := c.Defaults
	refuse := func(set bool, key string) {
		if set {
			c.add("defaults."+key, "it is a channel's own: write it at the channels")
		}
	}
	refuse(d.Ordered, "ordered")
	refuse(!d.Filter.empty(), "filter")
	refuse(d.Queue != "", "queue")
	refuse(d.DeadLetters != "", "dead_letters")
}

func (c *checker) decisions() {
	switch d, p := c.Decisions, c.Payloads; {
	case d == Decisions{}:
	case d.Bucket == "" || d.Prefix == "":
		c.add("decisions", "decisions have a bucket, and a prefix of their own in it: name both")
	case !bucketName.MatchString(d.Bucket):
		c.add("decisions.bucket", "%q is no name of a bucket: it has 3 to 63 lower-case letters, digits, '-' and '.'", d.Bucket)
	case d.Bucket == p.Bucket && strings.HasPrefix(d.Prefix, p.Prefix):
		c.add("decisions.prefix", "%q is below the prefix of the payloads, whose lifecycle would delete decisions: use "+
			"another prefix or another bucket", d.Prefix)
	}
}

func (c *checker) exchange(name string) {
	path, e := "exchanges."+name, c.Exchanges[name]
	if err := part.Check(name); err != nil {
		c.add(path, "%q is no name of an exchange: %v", name, err)
	}
	if _, both := c.Channels[name]; both {
		c.add("channels."+name, "%s is both a channel and an exchange: give one of them another name, or call the "+
			"channel %s.NAME if it is a queue of the exchange", name, name)
	}
	c.mapped(path+".topic", e.Topic, e.Ordered)
	at := lastName(e.Topic)
	if at == "" {
		at = awsName(c.Namespace, e.Ordered, name)
		c.length(path, at)
	}
	if other := c.topics[at]; other != "" {
		c.add(path, "it has the topic %s, as %s has: give each exchange its own", at, other)
	}
	c.topics[at] = name
	c.high(path, e.HighThroughput, e.Ordered)
	c.tags(path, e.Owner, e.Tags)
	c.attributes(path, e.Attributes, native.Topic(), resource{e.Ordered, e.KMSKey != "", e.Topic != ""})
	c.kafka(path+".kafka", &e.Kafka)
}

func (c *checker) channel(name string) {
	path, ch := "channels."+name, c.Channels[name]
	exchange, _, many := cutName(name)
	c.name(path, name)
	if many {
		c.queueOfExchange(path, name, &ch)
	} else if !ch.Filter.empty() {
		c.add(path+".filter", "a filter selects messages of an exchange, and %s is a queue of its own: remove it", name)
	}
	ordered := c.orderedness(name)
	c.mapped(path+".queue", ch.Queue, ordered)
	c.mapped(path+".dead_letters", ch.DeadLetters, ordered)
	parts := []string{name}
	if many {
		parts = strings.SplitN(name, ".", 2)
	}
	at := lastName(ch.Queue)
	if at == "" {
		at = awsName(c.Namespace, ordered, parts...)
		c.length(path, awsName(c.Namespace, ordered, append(parts, part.DeadLetters)...))
	}
	if other := c.taken[at]; other != "" {
		c.add(path, "it has the queue %s, as %s has: give each channel its own", at, other)
	}
	c.taken[at] = name
	c.high(path, ch.HighThroughput, ordered)
	c.times(path, &ch)
	c.tags(path, ch.Owner, ch.Tags)
	c.attributes(path, ch.Attributes, native.Queue(), resource{ordered, ch.KMSKey != "", ch.Queue != ""})
	c.tagValue(path+".keep", ch.Keep)
	c.kafka(path+".kafka", &ch.Kafka)
	if many && (ch.Kafka.Partitions != 0 || ch.Kafka.Retention != 0 || ch.Kafka.Config != nil) {
		c.add(path+".kafka", "partitions, retention and config are those of the topic: write them at exchange %s", exchange)
	}
}

// deadLetters refuses a queue of a channel as that of another's dead letters.
func (c *checker) deadLetters() {
	for _, name := range c.ChannelNames() {
		at := lastName(c.Channels[name].DeadLetters)
		if of := c.taken[at]; at != "" && of != "" {
			c.add("channels."+name+".dead_letters", "%s is the queue of %s, whose dead letters would be dead letters of "+
				"dead letters: name another queue", at, of)
		}
	}
}

func (c *checker) queueOfExchange(path, name string, ch *Channel) {
	exchange, _, _ := cutName(name)
	e, declared := c.Exchanges[exchange]
	switch {
	case !declared && part.Legal(exchange):
		c.add(path, "exchange %s is not declared%s: add it under exchanges", exchange,
			suggestion(exchange, c.ExchangeNames()))
	case declared && ch.Ordered && !e.Ordered:
		c.add(path+".ordered", "exchange %s is not ordered, so none of its channels can be: set ordered there, or remove "+
			"it here", exchange)
	}
	f := ch.Filter
	if len(f.Exclude) > 0 && len(f.Exact)+len(f.Prefix) > 0 {
		c.add(path+".filter", "exclude cannot be combined with exact or prefix: use one of them")
	}
	n := len(f.Exact) + len(f.Prefix) + len(f.Exclude)
	if len(f.Exclude) > 0 {
		n++ // messages without a routing key pass, too
	}
	if n > maxValues {
		c.add(path+".filter", "it has %d values, and SNS allows %d: use prefixes", n, maxValues)
	}
	for key, values := range map[string][]string{"exact": f.Exact, "prefix": f.Prefix, "exclude": f.Exclude} {
		if slices.Contains(values, "") {
			c.add(path+".filter."+key, "an empty value matches no routing key: remove it")
		}
	}
}

// times checks the durations and numbers of a channel.
func (c *checker) times(path string, ch *Channel) {
	within := func(key string, is, low, high time.Duration) {
		if is != 0 && (is < low || is > high) {
			c.add(path+"."+key, "it is %v and must be within %v and %v", is, low, high)
		}
	}
	within("delay", ch.Delay, 0, maxDelay)
	within("retention", ch.Retention, minRetention, maxRetention)
	within("dead_letter_retention", ch.DeadLetterRetention, minRetention, maxRetention)
	within("lease", ch.Lease, shortestLease, 12*time.Hour)
	within("processing_timeout", ch.ProcessingTimeout, time.Second, 30*time.Minute)
	within("delay_tolerance", ch.DelayTolerance, time.Second, 24*time.Hour)
	if n := ch.MaxAttempts; n < 0 || n > 1000 {
		c.add(path+".max_attempts", "it is %d and must be within 1 and 1000", n)
	}
	keep := ch.Retention
	if keep == 0 {
		keep = maxRetention
	}
	if dead := ch.DeadLetterRetention; dead != 0 && dead < keep {
		c.add(path+".dead_letter_retention", "it is %v, and messages are kept for %v: a message that SQS itself moves "+
			"keeps its age, so that it could be deleted at once: raise it, or lower retention", dead, keep)
	}
	if ch.NoDeadLetters && (ch.DeadLetters != "" || ch.DeadLetterRetention != 0) {
		c.add(path+".no_dead_letters", "dead_letters and dead_letter_retention have no effect with it: remove them, or it")
	}
	if ch.Alarms.Age < 0 || ch.Alarms.Depth < 0 || ch.Alarms.DeadLetters < 0 {
		c.add(path+".alarms", "a threshold cannot be negative")
	}
	for key, d := range map[string]time.Duration{
		"delay": ch.Delay, "retention": ch.Retention, "dead_letter_retention": ch.DeadLetterRetention,
		"lease": ch.Lease, "alarms.age": ch.Alarms.Age,
	} {
		if d%time.Second != 0 {
			c.add(path+"."+key, "it is %v: SQS counts whole seconds", d)
		}
	}
}

func (c *checker) high(path string, high, ordered bool) {
	if high && !ordered {
		c.add(path+".high_throughput", "it is for ordered channels: set ordered as well, or remove it")
	}
}

// ownAttributes are attributes that Godwit sets, each with the key to write instead.
var ownAttributes = map[string]string{
	"DelaySeconds": "delay", "MessageRetentionPeriod": "retention", "VisibilityTimeout": "lease",
	"RedrivePolicy": "max_attempts", "KmsMasterKeyId": "kms_key", "SqsManagedSseEnabled": "kms_key",
	"FifoQueue": "ordered", "FifoTopic": "ordered", "FifoThroughputLimit": "high_throughput",
	"DeduplicationScope": "high_throughput", "FifoThroughputScope": "high_throughput",
}

// resource is what decides which attributes are possible.
type resource struct{ ordered, encrypted, mapped bool }

// attributes checks attributes by the service's names.
func (c *checker) attributes(path string, set map[string]string, known map[string]native.Attribute, is resource) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		at := path + ".attributes." + name
		a, there := known[name]
		key, own := ownAttributes[name]
		switch err := a.Check(set[name]); {
		case own:
			c.add(at, "this attribute has a key of its own: write %s", key)
		case name == "Policy" || name == "ContentBasedDeduplication":
			c.add(at, "Godwit sets this attribute itself: remove it")
		case !there:
			names := slices.Sorted(maps.Keys(known))
			c.add(at, "there is no such attribute%s; there are %s", suggestion(name, names), strings.Join(names, ", "))
		case is.mapped:
			c.add(at, "it has no effect, because a resource that exists is used and never changed: remove it")
		case a.Ordered && !is.ordered:
			c.add(at, "it is for ordered channels: set ordered as well, or remove it")
		case a.Encrypted && !is.encrypted:
			c.add(at, "it has an effect only with a key of KMS: set kms_key as well, or remove it")
		case err != nil:
			c.add(at, "%v", err)
		}
	}
}

// vendors begin the names of settings that brokers other than Apache's have.
var vendors = []string{"confluent.", "redpanda.", "strimzi."}

func (c *checker) kafka(path string, k *ChannelKafka) {
	if k.Partitions < 0 {
		c.add(path+".partitions", "it cannot be negative")
	}
	if k.Retention < 0 {
		c.add(path+".retention", "it cannot be negative")
	}
	for _, name := range slices.Sorted(maps.Keys(k.Config)) {
		names, at := native.Kafka(), path+".config."+name
		switch {
		case name == "retention.ms":
			c.add(at, "this setting has a key of its own: write retention")
		case !slices.Contains(names, name) &&
			!slices.ContainsFunc(vendors, func(v string) bool { return strings.HasPrefix(name, v) }):
			c.add(at, "topics have no such setting%s", suggestion(name, names))
		}
	}
	for key, one := range map[string]struct {
		is    string
		known []string
	}{
		"ordering": {k.Ordering, []string{"key", "partition", "none"}},
		"retries":  {k.Retries, []string{"block", "park", "alone"}},
	} {
		if one.is != "" && !slices.Contains(one.known, one.is) {
			c.add(path+"."+key, "%q is none of %s%s", one.is, strings.Join(one.known, ", "),
				suggestion(one.is, one.known))
		}
	}
	for i, d := range k.Tiers {
		if d < time.Second || d%time.Second != 0 || i > 0 && d <= k.Tiers[i-1] {
			c.add(fmt.Sprintf("%s.tiers.%d", path, i), "it is %v: tiers are whole seconds, in ascending order", d)
		}
	}
}
