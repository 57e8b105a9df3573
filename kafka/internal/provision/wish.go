package provision

import (
	"cmp"
	"maps"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

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
