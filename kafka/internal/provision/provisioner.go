package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/share"
)

// spreadPatience is how long it may take until all brokers know a new topic.
const spreadPatience = 10 * time.Second

// spreadAgain are the pauses between requests for a new topic.
var spreadAgain = backoff.Curve{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// Provisioner creates and checks the topics of channels.
type Provisioner struct {
	channels    *layout.Channels
	cluster     *cluster.Cluster
	store       driver.Store // of large bodies; nil: there is none
	replication int          // of new topics; 0: as many replicas as the brokers' default
	recreates   bool         // topics that are deleted while they are in use are created again

	mu    sync.Mutex
	specs map[driver.Channel]driver.ChannelSpec // what the consumers of this process need, by channel
	seen  map[string]formerTopic                // the topics of channels, as they were last seen
}

// New returns a provisioner of channels. Without a number of replicas, new topics have as many as the brokers' default.
func New(
	c *cluster.Cluster, channels *layout.Channels, store driver.Store, replication int, recreates bool,
) *Provisioner {
	return &Provisioner{
		channels: channels, cluster: c, store: store, replication: replication, recreates: recreates,
		specs: map[driver.Channel]driver.ChannelSpec{}, seen: map[string]formerTopic{},
	}
}

// Prepare checks a specification, remembers it for [Provisioner.Restore] if it is that of a consumer, and prepares the
// store.
func (p *Provisioner) Prepare(ctx context.Context, s driver.ChannelSpec) error {
	if err := p.check(s); err != nil {
		return err
	}
	if s.Owner {
		p.remember(s)
	}
	return p.ensureStore(ctx, s)
}

// check returns an error for a channel, or settings of it, that Kafka or the options cannot carry.
func (p *Provisioner) check(s driver.ChannelSpec) error {
	if err := p.channels.Legal(s.Channel); err != nil {
		return err
	}
	if err := possible(s); err != nil {
		return err
	}
	return bearable(s, p.channels.Uses(s.Channel))
}

// possible returns an error for settings that Kafka has no feature for.
func possible(s driver.ChannelSpec) error {
	switch {
	case s.Delay != 0:
		return failure.Permanent("channel %s: a topic cannot delay all of its messages (Delay %v): leave out Delay, "+
			"and delay single messages on a channel without order", s.Channel, s.Delay)
	case s.Encryption != "":
		return failure.Permanent("channel %s: a topic has no encryption key of its own (Encryption %q): leave it "+
			"out, and encrypt the brokers' disks or the bodies", s.Channel, s.Encryption)
	case len(s.Native) > 0:
		return failure.Permanent("channel %s: a topic of Kafka has no attributes of SQS and SNS (%s): leave them out, and "+
			"set what the topic needs in kafka.ChannelOptions.TopicConfig", s.Channel,
			strings.Join(slices.Sorted(maps.Keys(s.Native)), ", "))
	}
	return nil
}

// bearable refuses a retry that would hold up its key for longer than the options allow: no record would come to it.
func bearable(s driver.ChannelSpec, u layout.Use) error {
	if len(u.Tiers) > 0 || s.LongestRetry <= u.MaxBlock {
		return nil
	}
	return failure.Permanent("channel %s: a retry waits for up to %v, and a failing record may hold up its key for %v "+
		"(MaxBlock), so that the record would be rejected instead: raise kafka.Options.MaxBlock, shorten the backoff, "+
		"or set Retries to RetryPark or RetryAlone", s.Channel, s.LongestRetry, u.MaxBlock)
}

// Ensure creates what a channel lacks, or reports it.
func (p *Provisioner) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if s.Channel.DeadLetter {
		_, err := p.cluster.Find(ctx, p.channels.DeadLetters(s.Channel))
		return err
	}
	own, err := p.ensureOwn(ctx, s)
	if err != nil {
		return err
	}
	if p.channels.Uses(s.Channel).Share && s.Owner && s.Mode.Creates() {
		if err := p.beginShare(ctx, s.Channel); err != nil {
			return err
		}
	}
	for _, w := range p.besides(s, own.Partitions) {
		if _, err := p.ensureTopic(ctx, s, w); err != nil {
			return err
		}
	}
	return nil
}

// beginShare lets a new share group begin at the start of its log. The configuration of a mapped group that has begun
// stays as its owner has set it.
func (p *Provisioner) beginShare(ctx context.Context, ch driver.Channel) error {
	group := p.channels.Group(ch)
	if group != p.channels.Member(ch) {
		var begun kadm.OffsetResponses
		var err error
		for try := cluster.Try(); ; {
			if begun, err = p.cluster.Shared(ctx, group); !try.Again(ctx, &err) {
				break
			}
		}
		if err != nil || len(begun) > 0 {
			return err
		}
	}
	return share.Begin(ctx, p.cluster.Client, group)
}

// remember keeps what a consumer needs, so that it can be created again when it is deleted.
func (p *Provisioner) remember(s driver.ChannelSpec) {
	if s.Channel.DeadLetter {
		return
	}
	p.mu.Lock()
	p.specs[layout.Plain(s.Channel)] = s
	p.mu.Unlock()
}

// Owns reports whether the consumer of a channel in this process may create its topics.
func (p *Provisioner) Owns(ch driver.Channel) bool {
	_, ours := p.wished(ch)
	return ours
}

// Restore creates what a channel lacks whose consumer in this process may create it; ours: it may.
func (p *Provisioner) Restore(ctx context.Context, ch driver.Channel) (ours bool, err error) {
	s, ours := p.wished(ch)
	if !ours {
		return false, nil
	}
	if err = p.channels.Open(); err == nil {
		err = p.ensureStore(ctx, s)
	}
	if err != nil {
		return true, err
	}
	return true, p.Ensure(ctx, s)
}

// ensureStore prepares the store of large bodies, or checks it.
func (p *Provisioner) ensureStore(ctx context.Context, s driver.ChannelSpec) error {
	if p.store == nil || s.Channel.DeadLetter {
		return nil
	}
	if err := p.store.Ensure(ctx, s.Mode); err != nil {
		return fmt.Errorf("channel %s: the store of large messages: %w", s.Channel, err)
	}
	return nil
}

// wished is what the consumer of this process needs of its channel; false: there is none, or it may not create topics.
func (p *Provisioner) wished(ch driver.Channel) (driver.ChannelSpec, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch.DeadLetter = false
	s, ok := p.specs[layout.Plain(ch)]
	s.Again = true
	return s, ok && s.Mode.Creates()
}

// Wish is a topic with the settings that it should have.
type Wish struct {
	Name       string
	Partitions int
	exactly    bool // another number of partitions is an error
	mapped     bool // it is never created or changed
	Config     map[string]string
}

// ownTopic is the topic that senders and receivers of the channel use.
func (p *Provisioner) ownTopic(s driver.ChannelSpec) Wish {
	o := p.channels.Uses(s.Channel)
	return Wish{
		Name: p.channels.Topic(s.Channel), Partitions: o.Partitions, Config: topicConfig(o, s),
		mapped: p.channels.Mapping.Maps(s.Channel),
	}
}

// besides are the other topics that a consumer needs: its dead letters and tiers, each with as many partitions as the
// channel's own topic.
func (p *Provisioner) besides(s driver.ChannelSpec, partitions int) (all []Wish) {
	if !s.Owner || s.Channel.Queue == "" {
		return nil
	}
	o := p.channels.Uses(s.Channel)
	if !s.NoDeadLetters && !p.channels.OwnDeadLetters {
		dead := s.Channel
		dead.DeadLetter = true
		all = append(all, Wish{
			Name: p.channels.DeadLetters(dead), Partitions: partitions,
			Config: besideConfig(o, s, 0), mapped: p.channels.Mapping.Maps(dead),
		})
	}
	if !p.channels.OwnRetries {
		for _, d := range o.Tiers {
			all = append(all, Wish{
				Name: p.channels.Tier(s.Channel, d), Partitions: partitions, exactly: true,
				Config: besideConfig(o, s, d),
			})
		}
	}
	return all
}

// retention is how long a topic keeps records; 0: as the brokers' setting. The topic of an exchange is that of several
// consumers, so none of them decides.
func retention(o layout.Use, s driver.ChannelSpec) time.Duration {
	if s.Channel.Exchange != "" {
		return o.Retention
	}
	return cmp.Or(s.Retention, o.Retention)
}

func topicConfig(o layout.Use, s driver.ChannelSpec) map[string]string {
	config := map[string]string{}
	if keep := retention(o, s); keep != 0 {
		config["retention.ms"] = millis(keep)
	}
	if o.Compression != "" {
		config["compression.type"] = o.Compression
	}
	maps.Copy(config, o.TopicConfig)
	return config
}

// besideConfig is the configuration of dead letters and tiers, which are kept longer, and never compacted. Records in a
// tier are kept for twice as long as they wait, at least, because a consumer may be down when they are due.
func besideConfig(o layout.Use, s driver.ChannelSpec, wait time.Duration) map[string]string {
	config := topicConfig(o, s)
	delete(config, "cleanup.policy")
	keep := retention(o, s)
	if wait == 0 && s.DeadRetention != 0 {
		config["retention.ms"] = millis(s.DeadRetention)
		return config
	}
	if keep >= 0 {
		keep = max(keep, layout.BesideRetention, 2*wait)
	}
	config["retention.ms"] = millis(keep)
	return config
}

// millis is a duration in Kafka's configuration; negative: without limit.
func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), -1), 10) }

// ensureOwn creates the topic of a channel, or compares it with the wish, and records what it is now.
func (p *Provisioner) ensureOwn(ctx context.Context, s driver.ChannelSpec) (cluster.Topic, error) {
	w := p.ownTopic(s)
	t, err := p.ensureTopic(ctx, s, w)
	if n := p.channels.Uses(s.Channel).Wished; err == nil && s.Mode == driver.Declare && !w.mapped && n > t.Partitions {
		w.Partitions = n
		t, err = p.grow(ctx, w)
	}
	if err == nil {
		err = p.See(ctx, t)
	}
	return t, err
}

// ensureTopic creates a topic, or compares it with the wish.
func (p *Provisioner) ensureTopic(ctx context.Context, s driver.ChannelSpec, w Wish) (cluster.Topic, error) {
	t, err := p.cluster.Find(ctx, w.Name)
	if w.mapped {
		return t, p.absent(s, w, err)
	}
	switch {
	case err == nil && w.exactly && t.Partitions < w.Partitions && s.Mode.Creates():
		if t, err = p.grow(ctx, w); err != nil {
			return t, fmt.Errorf("channel %s: %w", s.Channel, err)
		}
		return t, p.compare(ctx, s, w)
	case err == nil && w.exactly && t.Partitions < w.Partitions:
		return t, failure.Permanent("channel %s: topic %s has %d partitions and needs %d, as many as the topic that "+
			"its records come from: add partitions to it", s.Channel, w.Name, t.Partitions, w.Partitions)
	case err == nil && w.exactly && t.Partitions > w.Partitions:
		return t, failure.Permanent("channel %s: topic %s has %d partitions, and topic %s, which its records come "+
			"from, has %d: nobody would read the partitions from %d on: add partitions to topic %s, or delete "+
			"topic %s if nothing in it is needed", s.Channel, w.Name, t.Partitions, p.channels.Topic(s.Channel),
			w.Partitions, w.Partitions, p.channels.Topic(s.Channel), w.Name)
	case err == nil && (s.Owner || s.Mode == driver.Verify):
		return t, p.compare(ctx, s, w)
	case driver.ClassOf(err) != driver.NotFound:
		return t, err
	case s.Mode == driver.Verify:
		return t, fmt.Errorf("channel %s: %w: provision the channel, or create the topic", s.Channel, err)
	}
	return p.createMissing(ctx, s, w)
}

// absent returns the error for a mapped topic that could not be looked up, or does not exist. If it existed while this
// process used it, the error passes, so that consumers and producers wait for it.
func (p *Provisioner) absent(s driver.ChannelSpec, w Wish, err error) error {
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		return err
	}
	if former, known := p.former(w.Name); known && s.Again {
		return former.awaited(w.Name)
	}
	return fmt.Errorf("channel %s is mapped to topic %s by kafka.Options.Names: %w: correct the entry, or create the topic",
		s.Channel, w.Name, err)
}

// createMissing creates a topic that does not exist. A channel's topic that existed while this process used it does not
// get other partitions or another configuration than it had.
func (p *Provisioner) createMissing(ctx context.Context, s driver.ChannelSpec, w Wish) (cluster.Topic, error) {
	former, known := p.former(w.Name)
	switch {
	case !known || !s.Again:
		return p.Create(ctx, w, p.replication)
	case !p.recreates:
		return cluster.Topic{}, former.awaited(w.Name)
	}
	w.Partitions, w.Config = former.partitions, former.config
	return p.Create(ctx, w, former.replicas)
}

// Create creates a topic and waits until the brokers know it. 0 replicas: as many as the brokers' default.
func (p *Provisioner) Create(ctx context.Context, w Wish, replicas int) (cluster.Topic, error) {
	if _, err := p.Request(ctx, w, replicas); err != nil {
		return cluster.Topic{}, err
	}
	return p.Spread(ctx, w.Name, 1)
}

// Request requests a new topic. The controller answers whether it exists, also of a topic that other brokers still show
// although it was deleted.
func (p *Provisioner) Request(ctx context.Context, w Wish, replicas int) (made bool, err error) {
	config := make(map[string]*string, len(w.Config))
	for k, v := range w.Config {
		config[k] = &v
	}
	if replicas == 0 {
		replicas = -1
	}
	_, err = p.cluster.Admin.CreateTopic(ctx, int32(w.Partitions), int16(replicas), config, w.Name)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("create topic %s: %w", w.Name, failure.Classify(err))
	}
	return true, nil
}

// grow adds partitions to a topic until it has as many as are wished. Another consumer may do the same at the same
// time.
func (p *Provisioner) grow(ctx context.Context, w Wish) (cluster.Topic, error) {
	answers, err := p.cluster.Admin.UpdatePartitions(ctx, w.Partitions, w.Name)
	if err == nil {
		var one kadm.CreatePartitionsResponse
		if one, err = answers.On(w.Name, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil && !errors.Is(err, kerr.InvalidPartitions) {
		return cluster.Topic{}, fmt.Errorf("add partitions to topic %s, so that it has %d: %w", w.Name, w.Partitions,
			failure.Classify(err))
	}
	t, err := p.Spread(ctx, w.Name, w.Partitions)
	if err == nil && t.Partitions < w.Partitions {
		err = failure.Permanent("topic %s still has %d partitions and needs %d", w.Name, t.Partitions, w.Partitions)
	}
	return t, err
}

// Spread waits until all brokers know that a topic has a number of partitions, at least. After some time it returns the
// topic as they know it.
func (p *Provisioner) Spread(ctx context.Context, name string, partitions int) (cluster.Topic, error) {
	begun := time.Now()
	for try := 1; ; try++ {
		t, err := p.cluster.FindEverywhere(ctx, name)
		if err == nil && t.Partitions >= partitions || driver.ClassOf(err) != driver.NotFound && err != nil ||
			time.Since(begun) > spreadPatience {
			return t, err
		}
		if err := backoff.Sleep(ctx, spreadAgain.Jittered(try)); err != nil {
			return cluster.Topic{}, err
		}
	}
}

// compare compares a topic's configuration with the wish. For an owner it changes what differs; with Verify it reports
// the difference.
func (p *Provisioner) compare(ctx context.Context, s driver.ChannelSpec, w Wish) error {
	if len(w.Config) == 0 {
		return nil
	}
	configs, err := p.cluster.Configs(ctx, w.Name)
	if err != nil {
		return fmt.Errorf("read the configuration of topic %s: %w", w.Name, failure.Classify(err))
	}
	var change []kadm.AlterConfig
	var told []string
	for _, d := range differentConfig(driver.Difference{}, configs, w) {
		change = append(change, kadm.AlterConfig{Op: kadm.SetConfig, Name: d.Attribute, Value: &d.To})
		told = append(told, fmt.Sprintf("%s is %q and should be %q", d.Attribute, d.From, d.To))
	}
	switch {
	case len(change) == 0:
		return nil
	case s.Mode == driver.Verify:
		return failure.Permanent("channel %s: topic %s differs: %s", s.Channel, w.Name, strings.Join(told, "; "))
	}
	done, err := p.cluster.Admin.AlterTopicConfigs(ctx, change, w.Name)
	if err == nil {
		var one kadm.AlterConfigsResponse
		if one, err = done.On(w.Name, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil {
		return fmt.Errorf("change the configuration of topic %s: %w", w.Name, failure.Classify(err))
	}
	return nil
}

// formerTopic is what a channel's topic was when it was last seen, in case it is deleted.
type formerTopic struct {
	partitions, replicas int
	config               map[string]string // what was set for this topic; nil without Options.RecreateTopics
}

// awaited is the error while a deleted topic is not created again. It passes, so that consumers and producers try
// again.
func (f formerTopic) awaited(name string) error {
	return &driver.Error{
		Class: driver.Transient,
		Err: fmt.Errorf("topic %s was deleted while it was in use: create it again (it had %d partitions), or set "+
			"kafka.Options.RecreateTopics, which has no effect on topics in Names", name, f.partitions),
	}
}

// See records what a channel's topic is now.
func (p *Provisioner) See(ctx context.Context, t cluster.Topic) error {
	former := formerTopic{partitions: t.Partitions, replicas: t.Replicas}
	if p.recreates {
		var err error
		if former.config, err = p.cluster.Configured(ctx, t.Name); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[t.Name] = former
	return nil
}

// former is what a topic was; false: it was never seen.
func (p *Provisioner) former(name string) (formerTopic, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.seen[name]
	return f, ok
}
