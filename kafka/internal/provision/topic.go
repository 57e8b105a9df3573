package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// spreadPatience is how long it may take until all brokers know a new topic.
const spreadPatience = 10 * time.Second

// spreadAgain are the pauses between requests for a new topic.
var spreadAgain = backoff.Curve{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// ensureTopic creates a topic, or compares it with the wish. A channel's topic that existed while this process used it
// does not get other partitions or another configuration than it had.
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
	replicas = cmp.Or(replicas, -1)
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
		if former.config, _, err = p.cluster.Configured(ctx, t.Name); err != nil {
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
