package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/share"
)

// Provisioner creates and checks the topics of channels.
type Provisioner struct {
	channels    *layout.Channels
	cluster     *cluster.Cluster
	store       driver.Store // of large bodies; nil: there is none
	replication int          // of new topics; 0: as many replicas as the brokers' default
	recreates   bool         // topics that are deleted while they are in use are created again
	Later       *LaterTopics

	mu    sync.Mutex
	specs map[driver.Channel]driver.ChannelSpec // what the consumers of this process need, by channel
	seen  map[string]formerTopic                // the topics of channels, as they were last seen
}

// New returns a provisioner of channels. Without a number of replicas, new topics have as many as the brokers' default.
func New(
	c *cluster.Cluster, channels *layout.Channels, store driver.Store, replication int, recreates bool,
) *Provisioner {
	p := &Provisioner{
		channels: channels, cluster: c, store: store, replication: replication, recreates: recreates,
		specs: map[driver.Channel]driver.ChannelSpec{}, seen: map[string]formerTopic{},
	}
	p.Later = newLaterTopics(p)
	return p
}

// Prepare checks a specification, remembers it for [Provisioner.Restore] if it is that of a consumer, and prepares the
// store.
func (p *Provisioner) Prepare(ctx context.Context, s driver.ChannelSpec) error {
	if err := p.check(s); err != nil {
		return err
	}
	p.Later.allow(s)
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
	if s.Channel.Later {
		return failure.Permanent("channel %s: the topic in which messages wait for their time belongs to their channel, and "+
			"is created when the first of them is sent: name the channel", s.Channel)
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
			"and delay single messages", s.Channel, s.Delay)
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
	w := p.ownTopic(s)
	own, err := p.ensureTopic(ctx, s, w)
	wished := p.channels.Uses(s.Channel).Wished
	if err == nil && s.Mode == driver.Declare && !w.mapped && wished > own.Partitions {
		w.Partitions = wished
		own, err = p.grow(ctx, w)
	}
	if err == nil {
		err = p.See(ctx, own)
	}
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
