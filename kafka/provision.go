package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

const (
	// besideRetention is how long dead letters and records in tiers are kept, at least: an operator has to look at dead
	// letters, and the consumer of a tier may be down.
	besideRetention = 14 * 24 * time.Hour
	// spreadPatience is how long it may take until all brokers know a new topic.
	spreadPatience = 10 * time.Second
)

// spreadAgain are the pauses between requests for a new topic.
var spreadAgain = backoff.Curve{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// Ensure creates the topics that a channel needs, or reports what is missing. It changes the configuration of existing
// topics only for an owner. It never changes the number of partitions of the channel's topic, because keys would move
// to other partitions; tiers get as many partitions as the channel's topic has. What Options.Names maps, and dead
// letters if they are the channel, are only looked up. For an owner it also checks that its group can be joined, and
// commits where the group begins.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.legal(s.Channel); err != nil {
		return err
	}
	if err := possible(s); err != nil {
		return err
	}
	if err := bearable(s, b.o.channel(s.Channel)); err != nil {
		return err
	}
	if s.Owner {
		b.provisioner.remember(s)
	}
	if b.o.Store != nil && !s.Channel.DeadLetter {
		if err := b.o.Store.Ensure(ctx, s.Mode); err != nil {
			return fmt.Errorf("channel %s: the store of large messages: %w", s.Channel, err)
		}
	}
	if s.Mode == driver.Never {
		return nil
	}
	if !s.Owner || s.Channel.Queue == "" || s.Channel.DeadLetter || s.Again {
		return b.provisioner.ensure(ctx, s)
	}
	if err := b.fits(ctx, s.Channel); err != nil {
		return err
	}
	if err := b.provisioner.ensure(ctx, s); err != nil {
		return err
	}
	sub := subscribe(b, s.Channel, driver.ReceiverOptions{}, toHandle, nil)
	if s.Mode.Creates() || sub.set.Start.From == StartCommitted { // which commits nothing
		return sub.start(ctx)
	}
	return nil
}

// Find checks that dead letters exist. Whether their records are in order cannot be seen at a topic.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.open(); err != nil {
		return dead, err
	}
	if err := b.legal(dead); err != nil {
		return dead, err
	}
	_, err := b.cluster.Find(ctx, b.names.DeadLetters(dead))
	return dead, err
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
	}
	return nil
}

// bearable refuses a retry that would hold up its key for longer than the options allow: no record would come to it.
func bearable(s driver.ChannelSpec, o ChannelOptions) error {
	if o.tiered() || s.LongestRetry <= o.MaxBlock {
		return nil
	}
	return failure.Permanent("channel %s: a retry waits for up to %v, and a failing record may hold up its key for %v "+
		"(MaxBlock), so that the record would be rejected instead: raise kafka.Options.MaxBlock, shorten the backoff, "+
		"or set Retries to RetryPark or RetryAlone", s.Channel, s.LongestRetry, o.MaxBlock)
}

// provisioner creates and checks the topics of channels.
type provisioner struct {
	o       *Options
	names   layout.Names
	cluster *cluster.Cluster

	mu    sync.Mutex
	specs map[driver.Channel]driver.ChannelSpec // what the consumers of this process need, by channel
	seen  map[string]formerTopic                // the topics of channels, as they were last seen
}

// ensure creates what a channel lacks, or reports it.
func (p *provisioner) ensure(ctx context.Context, s driver.ChannelSpec) error {
	if s.Channel.DeadLetter {
		_, err := p.cluster.Find(ctx, p.names.DeadLetters(s.Channel))
		return err
	}
	own, err := p.ensureOwn(ctx, s)
	if err != nil {
		return err
	}
	if p.o.channel(s.Channel).GroupProtocol == GroupShare && s.Owner && s.Mode.Creates() {
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
func (p *provisioner) beginShare(ctx context.Context, ch driver.Channel) error {
	group := p.names.Group(ch)
	if group != p.names.Member(ch) {
		var begun kadm.OffsetResponses
		err := cluster.Patiently(ctx, func() (err error) {
			begun, err = p.cluster.Shared(ctx, group)
			return err
		})
		if err != nil || len(begun) > 0 {
			return err
		}
	}
	return share.Begin(ctx, p.cluster.Client, group)
}

// remember keeps what a consumer needs, so that it can be created again when it is deleted.
func (p *provisioner) remember(s driver.ChannelSpec) {
	if s.Channel.DeadLetter {
		return
	}
	p.mu.Lock()
	p.specs[unordered(s.Channel)] = s
	p.mu.Unlock()
}

// wished is what the consumer of this process needs of its channel; false: there is none, or it may not create topics.
func (p *provisioner) wished(ch driver.Channel) (driver.ChannelSpec, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ch.DeadLetter = false
	s, ok := p.specs[unordered(ch)]
	s.Again = true
	return s, ok && s.Mode.Creates()
}

// wish is a topic with the settings that it should have.
type wish struct {
	name       string
	partitions int
	exactly    bool // another number of partitions is an error
	mapped     bool // it is never created or changed
	config     map[string]string
}

// ownTopic is the topic that senders and receivers of the channel use.
func (p *provisioner) ownTopic(s driver.ChannelSpec) wish {
	o := p.o.channel(s.Channel)
	return wish{
		name: p.names.Topic(s.Channel), partitions: o.Partitions, config: topicConfig(o, s),
		mapped: p.names.Mapping.Maps(s.Channel),
	}
}

// besides are the other topics that a consumer needs: its dead letters and tiers, each with as many partitions as the
// channel's own topic.
func (p *provisioner) besides(s driver.ChannelSpec, partitions int) (all []wish) {
	if !s.Owner || s.Channel.Queue == "" {
		return nil
	}
	o := p.o.channel(s.Channel)
	if !s.NoDeadLetters && p.o.DeadLetterQueue == nil {
		dead := s.Channel
		dead.DeadLetter = true
		all = append(all, wish{
			name: p.names.DeadLetters(dead), partitions: partitions,
			config: besideConfig(o, s, 0), mapped: p.names.Mapping.Maps(dead),
		})
	}
	if o.tiered() && p.o.RetryQueue == nil {
		for _, d := range o.Tiers {
			all = append(all, wish{
				name: p.names.Tier(s.Channel, d), partitions: partitions, exactly: true,
				config: besideConfig(o, s, d),
			})
		}
	}
	return all
}

// retention is how long a topic keeps records; 0: as the brokers' setting. The topic of an exchange is that of several
// consumers, so none of them decides.
func retention(o ChannelOptions, s driver.ChannelSpec) time.Duration {
	if s.Channel.Exchange != "" {
		return o.Retention
	}
	return cmp.Or(s.Retention, o.Retention)
}

func topicConfig(o ChannelOptions, s driver.ChannelSpec) map[string]string {
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
func besideConfig(o ChannelOptions, s driver.ChannelSpec, wait time.Duration) map[string]string {
	config := topicConfig(o, s)
	delete(config, "cleanup.policy")
	keep := retention(o, s)
	if wait == 0 && s.DeadRetention != 0 {
		config["retention.ms"] = millis(s.DeadRetention)
		return config
	}
	if keep >= 0 {
		keep = max(keep, besideRetention, 2*wait)
	}
	config["retention.ms"] = millis(keep)
	return config
}

// millis is a duration in Kafka's configuration; negative: without limit.
func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), -1), 10) }

// ensureOwn creates the topic of a channel, or compares it with the wish, and records what it is now.
func (p *provisioner) ensureOwn(ctx context.Context, s driver.ChannelSpec) (cluster.Topic, error) {
	w := p.ownTopic(s)
	t, err := p.ensureTopic(ctx, s, w)
	if n := wishedPartitions(p.o, s); err == nil && s.Mode == driver.Declare && !w.mapped && n > t.Partitions {
		w.partitions = n
		t, err = p.grow(ctx, w)
	}
	if err == nil {
		err = p.see(ctx, t)
	}
	return t, err
}

// ensureTopic creates a topic, or compares it with the wish.
func (p *provisioner) ensureTopic(ctx context.Context, s driver.ChannelSpec, w wish) (cluster.Topic, error) {
	t, err := p.cluster.Find(ctx, w.name)
	if w.mapped {
		return t, p.absent(s, w, err)
	}
	switch {
	case err == nil && w.exactly && t.Partitions < w.partitions && s.Mode.Creates():
		if t, err = p.grow(ctx, w); err != nil {
			return t, fmt.Errorf("channel %s: %w", s.Channel, err)
		}
		return t, p.compare(ctx, s, w)
	case err == nil && w.exactly && t.Partitions < w.partitions:
		return t, failure.Permanent("channel %s: topic %s has %d partitions and needs %d, as many as the topic that "+
			"its records come from: add partitions to it", s.Channel, w.name, t.Partitions, w.partitions)
	case err == nil && w.exactly && t.Partitions > w.partitions:
		return t, failure.Permanent("channel %s: topic %s has %d partitions, and topic %s, which its records come "+
			"from, has %d: nobody would read the partitions from %d on: add partitions to topic %s, or delete "+
			"topic %s if nothing in it is needed", s.Channel, w.name, t.Partitions, p.names.Topic(s.Channel),
			w.partitions, w.partitions, p.names.Topic(s.Channel), w.name)
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
func (p *provisioner) absent(s driver.ChannelSpec, w wish, err error) error {
	if err == nil || driver.ClassOf(err) != driver.NotFound {
		return err
	}
	if former, known := p.former(w.name); known && s.Again {
		return former.awaited(w.name)
	}
	return fmt.Errorf("channel %s is mapped to topic %s by kafka.Options.Names: %w: correct the entry, or create the topic",
		s.Channel, w.name, err)
}

// createMissing creates a topic that does not exist. A channel's topic that existed while this process used it does not
// get other partitions or another configuration than it had.
func (p *provisioner) createMissing(ctx context.Context, s driver.ChannelSpec, w wish) (cluster.Topic, error) {
	former, known := p.former(w.name)
	switch {
	case !known || !s.Again:
		return p.create(ctx, w, p.o.Replication)
	case !p.o.RecreateTopics:
		return cluster.Topic{}, former.awaited(w.name)
	}
	w.partitions, w.config = former.partitions, former.config
	return p.create(ctx, w, former.replicas)
}

// create creates a topic and waits until the brokers know it. 0 replicas: as many as the brokers' default.
func (p *provisioner) create(ctx context.Context, w wish, replicas int) (cluster.Topic, error) {
	if _, err := p.request(ctx, w, replicas); err != nil {
		return cluster.Topic{}, err
	}
	return p.spread(ctx, w.name, 1)
}

// request requests a new topic. The controller answers whether it exists, also of a topic that other brokers still show
// although it was deleted.
func (p *provisioner) request(ctx context.Context, w wish, replicas int) (made bool, err error) {
	config := make(map[string]*string, len(w.config))
	for k, v := range w.config {
		config[k] = &v
	}
	if replicas == 0 {
		replicas = -1
	}
	_, err = p.cluster.Admin.CreateTopic(ctx, int32(w.partitions), int16(replicas), config, w.name)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("create topic %s: %w", w.name, failure.Classify(err))
	}
	return true, nil
}

// grow adds partitions to a topic until it has as many as are wished. Another consumer may do the same at the same
// time.
func (p *provisioner) grow(ctx context.Context, w wish) (cluster.Topic, error) {
	answers, err := p.cluster.Admin.UpdatePartitions(ctx, w.partitions, w.name)
	if err == nil {
		var one kadm.CreatePartitionsResponse
		if one, err = answers.On(w.name, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil && !errors.Is(err, kerr.InvalidPartitions) {
		return cluster.Topic{}, fmt.Errorf("add partitions to topic %s, so that it has %d: %w", w.name, w.partitions,
			failure.Classify(err))
	}
	t, err := p.spread(ctx, w.name, w.partitions)
	if err == nil && t.Partitions < w.partitions {
		err = failure.Permanent("topic %s still has %d partitions and needs %d", w.name, t.Partitions, w.partitions)
	}
	return t, err
}

// spread waits until all brokers know that a topic has a number of partitions, at least. After some time it returns the
// topic as they know it.
func (p *provisioner) spread(ctx context.Context, name string, partitions int) (cluster.Topic, error) {
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
func (p *provisioner) compare(ctx context.Context, s driver.ChannelSpec, w wish) error {
	if len(w.config) == 0 {
		return nil
	}
	configs, err := p.cluster.Configs(ctx, w.name)
	if err != nil {
		return fmt.Errorf("read the configuration of topic %s: %w", w.name, failure.Classify(err))
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
		return failure.Permanent("channel %s: topic %s differs: %s", s.Channel, w.name, strings.Join(told, "; "))
	}
	done, err := p.cluster.Admin.AlterTopicConfigs(ctx, change, w.name)
	if err == nil {
		var one kadm.AlterConfigsResponse
		if one, err = done.On(w.name, nil); err == nil {
			err = one.Err
		}
	}
	if err != nil {
		return fmt.Errorf("change the configuration of topic %s: %w", w.name, failure.Classify(err))
	}
	return nil
}
