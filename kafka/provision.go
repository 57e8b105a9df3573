package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/share"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	// besideRetention is how long dead letters and records in tiers are kept, at least: somebody has to look at them first,
	// or their consumer may be away.
	besideRetention = 14 * 24 * time.Hour
	// spreadPatience is how long brokers may take to know of a topic that was just created.
	spreadPatience = 10 * time.Second
)

// spreadAgain spaces the questions whether all brokers know of a topic.
var spreadAgain = backoff.Curve{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// Ensure makes the topics that a channel needs, or says what is missing. It changes the configuration of what exists
// only for an owner, and the number of partitions never: another number would give keys other partitions. Dead
// letters are only looked for.
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
	if s.Owner {
		b.remember(s)
	}
	if s.Mode == driver.Never {
		return nil
	}
	if s.Channel.DeadLetter {
		_, err := b.find(ctx, b.names.DeadLetters(s.Channel))
		return err
	}
	own, err := b.ensureTopic(ctx, s, b.ownTopic(s))
	if err != nil {
		return err
	}
	if b.o.channel(s.Channel).GroupProtocol == GroupShare && s.Owner && s.Mode == driver.Auto {
		if err := share.Begin(ctx, b.client, b.names.Group(s.Channel)); err != nil {
			return err
		}
	}
	for _, w := range b.besides(s, own.partitions) {
		if _, err := b.ensureTopic(ctx, s, w); err != nil {
			return err
		}
	}
	return nil
}

// Find looks for dead letters. A topic does not tell whether its records are in order.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.open(); err != nil {
		return dead, err
	}
	if err := b.legal(dead); err != nil {
		return dead, err
	}
	_, err := b.find(ctx, b.names.DeadLetters(dead))
	return dead, err
}

// possible refuses what Kafka has no way to do.
func possible(s driver.ChannelSpec) error {
	switch {
	case s.Delay != 0:
		return failure.Permanent("channel %s: a topic cannot make all of its messages wait (Delay %v): delay single messages, where nothing is ordered", s.Channel, s.Delay)
	case s.Encryption != "":
		return failure.Permanent("channel %s: a topic has no key of its own (Encryption %q): encrypt the brokers' disks, or the bodies", s.Channel, s.Encryption)
	}
	return nil
}

// wish is a topic as it should be.
type wish struct {
	name       string
	partitions int
	exactly    bool // another number of partitions is an error
	config     map[string]string
}

// ownTopic is what an end of the channel speaks to.
func (b *Backend) ownTopic(s driver.ChannelSpec) wish {
	o := b.o.channel(s.Channel)
	return wish{name: b.names.Topic(s.Channel), partitions: o.Partitions, config: topicConfig(o, s)}
}

// besides are the topics that a consumer needs besides its own: dead letters and tiers, with as many partitions as that.
func (b *Backend) besides(s driver.ChannelSpec, partitions int) (all []wish) {
	if !s.Owner || s.Channel.Queue == "" {
		return nil
	}
	o := b.o.channel(s.Channel)
	if !s.NoDeadLetters && b.o.DeadLetterQueue == nil {
		all = append(all, wish{name: b.names.DeadLetters(s.Channel), partitions: partitions, config: besideConfig(o, s)})
	}
	if o.tiered() && b.o.RetryQueue == nil {
		for _, d := range o.Tiers {
			all = append(all, wish{name: b.names.Tier(s.Channel, d), partitions: partitions, exactly: true, config: besideConfig(o, s)})
		}
	}
	return all
}

func topicConfig(o ChannelOptions, s driver.ChannelSpec) map[string]string {
	config := map[string]string{}
	if keep := cmp.Or(s.Retention, o.Retention); keep != 0 {
		config["retention.ms"] = millis(keep)
	}
	if o.Compression != "" {
		config["compression.type"] = o.Compression
	}
	maps.Copy(config, o.TopicConfig)
	return config
}

// besideConfig is that of dead letters and tiers, which are kept longer, and never compacted.
func besideConfig(o ChannelOptions, s driver.ChannelSpec) map[string]string {
	config := topicConfig(o, s)
	delete(config, "cleanup.policy")
	keep := cmp.Or(s.Retention, o.Retention)
	if keep >= 0 && keep < besideRetention {
		keep = besideRetention
	}
	config["retention.ms"] = millis(keep)
	return config
}

// millis is a time as Kafka's configuration spells it; negative: for ever.
func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), -1), 10) }

// ensureTopic makes one topic, or compares it with what is wished.
func (b *Backend) ensureTopic(ctx context.Context, s driver.ChannelSpec, w wish) (topic, error) {
	t, err := b.find(ctx, w.name)
	switch {
	case err == nil && w.exactly && t.partitions != w.partitions:
		return t, failure.Permanent("channel %s: topic %s has %d partitions and needs %d, as many as the topic that its records come from: let it run empty and delete it, or add partitions",
			s.Channel, w.name, t.partitions, w.partitions)
	case err == nil && (s.Owner || s.Mode == driver.Verify):
		return t, b.compare(ctx, s, w)
	case driver.ClassOf(err) != driver.NotFound:
		return t, err
	case s.Mode == driver.Verify:
		return t, fmt.Errorf("channel %s: %w; provision it, or create it", s.Channel, err)
	}
	return b.create(ctx, w)
}

// create makes a topic and waits until the brokers know of it.
func (b *Backend) create(ctx context.Context, w wish) (topic, error) {
	config := make(map[string]*string, len(w.config))
	for k, v := range w.config {
		config[k] = &v
	}
	replication := int16(b.o.Replication)
	if replication == 0 {
		replication = -1
	}
	_, err := b.admin.CreateTopic(ctx, int32(w.partitions), replication, config, w.name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return topic{}, fmt.Errorf("create topic %s: %w", w.name, failure.Classify(err))
	}
	begun := time.Now()
	for try := 1; ; try++ {
		t, err := b.find(ctx, w.name)
		if err == nil && t.partitions > 0 || driver.ClassOf(err) != driver.NotFound && err != nil || time.Since(begun) > spreadPatience {
			return t, err
		}
		if err := backoff.Sleep(ctx, spreadAgain.Jittered(try)); err != nil {
			return topic{}, err
		}
	}
}

// compare looks at a topic's configuration. An owner changes what differs; Verify says it.
func (b *Backend) compare(ctx context.Context, s driver.ChannelSpec, w wish) error {
	if len(w.config) == 0 {
		return nil
	}
	all, err := b.admin.DescribeTopicConfigs(ctx, w.name)
	if err != nil {
		return fmt.Errorf("read the configuration of topic %s: %w", w.name, failure.Classify(err))
	}
	r, err := all.On(w.name, nil)
	if err == nil {
		err = r.Err
	}
	if err != nil {
		return fmt.Errorf("read the configuration of topic %s: %w", w.name, failure.Classify(err))
	}
	var change []kadm.AlterConfig
	var told []string
	for _, key := range slices.Sorted(maps.Keys(w.config)) {
		want := w.config[key]
		if is := configOf(r, key); is != want {
			change = append(change, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &want})
			told = append(told, fmt.Sprintf("%s is %q, wished is %q", key, is, want))
		}
	}
	switch {
	case len(change) == 0:
		return nil
	case s.Mode == driver.Verify:
		return failure.Permanent("channel %s: topic %s differs: %s", s.Channel, w.name, strings.Join(told, "; "))
	}
	done, err := b.admin.AlterTopicConfigs(ctx, change, w.name)
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

func configOf(r kadm.ResourceConfig, key string) string {
	for _, c := range r.Configs {
		if c.Key == key && c.Value != nil {
			return *c.Value
		}
	}
	return ""
}
