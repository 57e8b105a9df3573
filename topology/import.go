package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// Import declares what a namespace has, so that its plan has no step but the tag of the topology. What the declaration
// cannot say stays a step of the next plan: a number of receives that no max_attempts leads to, and filters of other
// forms. The name is for the new topology. Resources that the backend was told to use are left out. With an error
// nothing is known.
func Import(ctx context.Context, b godwit.Backend, name, namespace string) (*Spec, error) {
	do := driver.OperationsOf(b)
	if do.Catalog == nil || do.Specs == nil {
		return nil, errors.New("topology: import: this backend cannot say what its channels are like")
	}
	found, err := do.Catalog(ctx)
	if err != nil {
		return nil, fmt.Errorf("topology: import: %w", err)
	}
	specs, err := do.Specs(ctx, own(found))
	if err != nil {
		return nil, fmt.Errorf("topology: import: %w", err)
	}
	s := declared(name, namespace, specs)
	return s, s.Check()
}

// own are the channels that have specifications: those that are not mapped, without what belongs to them.
func own(found []driver.ChannelInfo) (cs []driver.Channel) {
	for _, c := range found {
		if !c.Mapped && !c.Channel.DeadLetter && !c.Channel.Beside() {
			cs = append(cs, c.Channel)
		}
	}
	return cs
}

// declared is the declaration of what specifications say.
func declared(name, namespace string, specs []driver.ChannelSpec) *Spec {
	s := &Spec{Name: name, Namespace: namespace, Exchanges: map[string]Exchange{}, Channels: map[string]Channel{}}
	s.Owner, s.Environment = shared(specs, "owner"), shared(specs, "environment")
	for i := range specs {
		one := &specs[i]
		if one.Channel.Queue != "" {
			c := imported(s, one)
			onTopic(&c, one)
			s.Channels[one.Channel.String()] = c
			continue
		}
		s.Exchanges[one.Channel.Exchange] = Exchange{
			Ordered: one.Channel.Ordered, HighThroughput: one.HighThroughput, KMSKey: one.Encryption,
			Owner: ownOwner(s, one), Tags: furtherTags(one.Tags), Attributes: one.Native, Kafka: topicOf(one.Topic),
		}
	}
	return s
}

// shared is the value of a tag that all resources have; "": they do not.
func shared(specs []driver.ChannelSpec, tag string) string {
	if len(specs) == 0 {
		return ""
	}
	first := specs[0].Tags[tag]
	for i := range specs {
		if specs[i].Tags[tag] != first {
			return ""
		}
	}
	return first
}

// ownOwner is an owner that is not that of all.
func ownOwner(s *Spec, one *driver.ChannelSpec) string {
	if owner := one.Tags["owner"]; owner != s.Owner {
		return owner
	}
	return ""
}

// imported is the declaration of a queue.
func imported(s *Spec, one *driver.ChannelSpec) Channel {
	c := Channel{
		Ordered: one.Channel.Ordered, HighThroughput: one.HighThroughput, Delay: one.Delay, Retention: one.Retention,
		DeadLetterRetention: one.DeadRetention, Lease: one.Lease, NoDeadLetters: one.NoDeadLetters,
		Filter: Filter{Exact: one.Filter.Exact, Prefix: one.Filter.Prefix, Exclude: one.Filter.Exclude},
		KMSKey: one.Encryption, Owner: ownOwner(s, one), Critical: one.Tags["critical"] == "true",
		Keep: one.Tags["keep"], Tags: furtherTags(one.Tags), Attributes: one.Native,
	}
	if one.NoDeadLetters {
		c.DeadLetterRetention = 0
	} else {
		c.MaxAttempts = attemptsOf(one)
	}
	seconds, _ := strconv.Atoi(one.Tags["alarm-age"]) // a tag that is no number was not set by Godwit
	c.Alarms.Age = time.Duration(seconds) * time.Second
	c.Alarms.Depth, _ = strconv.Atoi(one.Tags["alarm-depth"])
	c.Alarms.DeadLetters, _ = strconv.Atoi(one.Tags["alarm-dead-letters"])
	return c
}

// topicOf is the declaration of a topic of Kafka; nil: there is none.
func topicOf(t *driver.TopicSettings) (k ChannelKafka) {
	if t != nil {
		k.Partitions, k.Retention = t.Partitions, t.Retention
		if len(t.Config) > 0 {
			k.Config = t.Config
		}
	}
	return k
}

// onTopic adds what a queue has on Kafka. The topic of an exchange's queue is declared there. Tiers do not tell whether
// retries park their key or go alone: park keeps the order.
func onTopic(c *Channel, one *driver.ChannelSpec) {
	if one.Topic == nil {
		return
	}
	if one.Channel.Exchange == "" {
		c.Kafka, c.Retention = topicOf(one.Topic), 0
	}
	if len(one.Topic.Tiers) > 0 {
		c.Kafka.Tiers, c.Kafka.Retries = one.Topic.Tiers, "park"
	}
}

// attemptsOf is the number of attempts that leads to the number of receives; 0: the default does, or none.
func attemptsOf(one *driver.ChannelSpec) int {
	for _, n := range []int{0, one.MaxReceives / 10} {
		o := godwit.ConsumerOptions{Ordered: one.Channel.Ordered, MaxAttempts: n}
		if got, err := o.Spec(one.Channel.String()); err == nil && got.MaxReceives == one.MaxReceives {
			return n
		}
	}
	return min(one.MaxReceives/10, 1000)
}

// furtherTags are tags that have no key of their own; nil: there are none.
func furtherTags(tags map[string]string) map[string]string {
	further := maps.Clone(tags)
	maps.DeleteFunc(further, func(name, _ string) bool {
		_, own := ownTags[name]
		return own
	})
	if len(further) == 0 {
		return nil
	}
	return further
}
