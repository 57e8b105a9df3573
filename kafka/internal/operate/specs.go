package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Specs is driver.Operations.Specs: a request for all topics, and one for their settings.
func Specs(ctx context.Context, n *Namespace, cs []driver.Channel) ([]driver.ChannelSpec, error) {
	if err := n.Channels.Open(); err != nil {
		return nil, err
	}
	var r reading
	var err error
	if r.topics, _, err = n.Cluster.Topics(ctx); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, ch := range cs {
		if err := n.Channels.Legal(ch); err != nil {
			return nil, err
		}
		own := n.Channels.TopicOf(ch)
		if t, there := r.topics[own]; !there || errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("channel %s: %w", ch, failure.Missing(own))
		}
		names[own] = true
		if dead := n.lettersOf(ch); dead != "" && r.has(dead) {
			names[dead] = true
		}
	}
	if err := r.describe(ctx, n.Cluster, slices.Sorted(maps.Keys(names))); err != nil {
		return nil, err
	}
	all := make([]driver.ChannelSpec, len(cs))
	for i, ch := range cs {
		all[i] = r.spec(n, ch)
	}
	return all, nil
}

// lettersOf is the topic of a channel's own dead letters; "": it has none of its own.
func (n *Namespace) lettersOf(ch driver.Channel) string {
	if ch.Queue == "" || ch.DeadLetter || ch.Later || n.Channels.OwnDeadLetters {
		return ""
	}
	ch.DeadLetter = true
	return n.Channels.DeadLetters(ch)
}

// reading is what exists.
type reading struct {
	topics   map[string]cluster.Topic
	settings map[string]map[string]string // that were set for a topic itself
}

func (r *reading) has(topic string) bool {
	t, there := r.topics[topic]
	return there && t.Err == nil
}

// describe reads the settings of topics.
func (r *reading) describe(ctx context.Context, c *cluster.Cluster, topics []string) error {
	r.settings = map[string]map[string]string{}
	if len(topics) == 0 {
		return nil
	}
	described, err := c.Admin.DescribeTopicConfigs(ctx, topics...)
	if err != nil {
		return fmt.Errorf("read the configuration of topics: %w", failure.Classify(err))
	}
	for _, one := range described {
		if one.Err != nil {
			return fmt.Errorf("read the configuration of topic %s: %w", one.Name, failure.Classify(one.Err))
		}
		set := map[string]string{}
		for _, s := range one.Configs {
			if s.Source == kmsg.ConfigSourceDynamicTopicConfig && s.Value != nil {
				set[s.Key] = *s.Value
			}
		}
		r.settings[one.Name] = set
	}
	return nil
}

// spec is the specification of a channel that exists.
func (r *reading) spec(n *Namespace, ch driver.Channel) driver.ChannelSpec {
	own := n.Channels.TopicOf(ch)
	keep, _ := kept(r.settings[own])
	t := &driver.TopicSettings{
		Partitions: r.topics[own].Partitions, Retention: max(keep, 0), Config: maps.Clone(r.settings[own]),
	}
	delete(t.Config, retentionSetting)
	s := driver.ChannelSpec{Channel: ch, Owner: true, Mode: driver.Declare, Topic: t}
	if ch.Exchange == "" {
		s.Retention = t.Retention
	}
	if dead := n.lettersOf(ch); dead != "" {
		s.NoDeadLetters = !r.has(dead)
		// Without a retention of their own, dead letters are kept as long as the channel's messages, or two weeks.
		if is, set := kept(r.settings[dead]); set && is > 0 && is != max(t.Retention, layout.BesideRetention) {
			s.DeadRetention = is
		}
	}
	if ch.Queue != "" && !ch.DeadLetter && !ch.Later {
		for topic := range r.topics {
			d, is := n.Channels.Stay(ch, topic)
			if !is && n.Channels.Mapping.Apart(ch) { // before its consumer has made tiers of its own
				d, is = n.Channels.Former().Stay(ch, topic)
			}
			if is {
				t.Tiers = append(t.Tiers, d)
			}
		}
		slices.Sort(t.Tiers)
		t.Tiers = slices.Compact(t.Tiers)
	}
	return s
}

// retentionSetting says how long a topic keeps records.
const retentionSetting = "retention.ms"

// kept is how long a topic with settings keeps records; negative: without limit. set: it has a setting of its own.
func kept(settings map[string]string) (d time.Duration, set bool) {
	ms, err := strconv.ParseInt(settings[retentionSetting], 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}
