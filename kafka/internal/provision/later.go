package provision

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

const (
	// laterAge is how long a topic of messages that wait counts as there, without another look.
	laterAge = 10 * time.Second
	// laterRoom is how much larger a record that waits may be than one of its channel, because it has more headers.
	laterRoom = 4 << 10
	// laterSegment is the size of a segment. Compaction leaves the last one alone, and a waker reads all of it.
	laterSegment = 64 << 20
)

// LaterTopics finds and creates the topics in which messages wait for their time, beside their channels. It is safe for
// concurrent use.
type LaterTopics struct {
	p *Provisioner
	// Ready returns an error if the brokers cannot wake messages. It is asked before the first message waits.
	Ready func(ctx context.Context) error

	mu     sync.Mutex
	specs  map[string]driver.ChannelSpec // of programs that may create them, by topic
	topics map[string]laterTopic
	made   map[string]chan struct{} // closed when a producer of this process has found the topic
}

type laterTopic struct {
	cluster.Topic
	seen time.Time
}

func newLaterTopics(p *Provisioner) *LaterTopics {
	return &LaterTopics{
		p: p, Ready: func(context.Context) error { return nil },
		specs: map[string]driver.ChannelSpec{}, topics: map[string]laterTopic{}, made: map[string]chan struct{}{},
	}
}

// allow remembers the specification of a channel beside which messages may wait.
func (l *LaterTopics) allow(s driver.ChannelSpec) {
	if !s.Mode.Creates() || s.Channel.DeadLetter {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.specs[layout.Later(l.p.channels.Names, s.Channel)] = s
}

// Made is closed when a producer of this process has found the topic of a channel.
func (l *LaterTopics) Made(of driver.Channel) <-chan struct{} {
	name := layout.Later(l.p.channels.Names, of)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made[name] == nil {
		l.made[name] = make(chan struct{})
	}
	return l.made[name]
}

// Known is the topic of a channel. The error for a missing one is of class NotFound.
func (l *LaterTopics) Known(ctx context.Context, of driver.Channel) (cluster.Topic, error) {
	return l.p.cluster.Find(ctx, layout.Later(l.p.channels.Names, of))
}

// Ensured is the topic of a channel to which a producer sends. If it is missing, it is created, provided that a
// producer or consumer of this process may create topics of the channel.
func (l *LaterTopics) Ensured(ctx context.Context, of driver.Channel) (cluster.Topic, error) {
	name := layout.Later(l.p.channels.Names, of)
	l.mu.Lock()
	known, again := l.topics[name]
	s, allowed := l.specs[name]
	l.mu.Unlock()
	if again && time.Since(known.seen) < laterAge {
		return known.Topic, nil
	}
	if !again {
		if err := l.Ready(ctx); err != nil {
			return cluster.Topic{}, fmt.Errorf("channel %s: a message cannot wait for its time: %w", of, err)
		}
	}
	t, err := l.Known(ctx, of)
	switch {
	case err == nil && !again:
		err = l.compacted(ctx, name)
	case err != nil && driver.ClassOf(err) == driver.NotFound && allowed:
		t, err = l.create(ctx, of, s)
	case err != nil && driver.ClassOf(err) == driver.NotFound:
		err = &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("channel %s: a message with a delay waits in "+
			"topic %s: create it with cleanup.policy=compact and message.timestamp.type=LogAppendTime, or send with a "+
			"producer that may (ProvisionAuto): %w", of, name, err)}
	}
	if err == nil && !again {
		err = l.p.cluster.LearnLimit(ctx, name)
	}
	if err != nil {
		return t, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.topics[name] = laterTopic{t, time.Now()}
	if made := l.made[name]; made != nil {
		close(made)
		delete(l.made, name)
	}
	return t, nil
}

// compacted returns an error for a topic that deletes messages before they are due. A configuration that may not be
// seen is taken for right.
func (l *LaterTopics) compacted(ctx context.Context, name string) error {
	configs, err := l.p.cluster.Configs(ctx, name)
	if err != nil {
		return nil //nolint:nilerr // the permission to see the configuration is no condition of sending
	}
	if policy := cluster.ConfigOf(configs, "cleanup.policy"); policy != "compact" {
		return failure.Permanent("topic %s has cleanup.policy=%s, so that the brokers would delete messages that wait "+
			"in it: set it to compact", name, policy)
	}
	return nil
}

// create creates the topic, with as many partitions as that of the channel.
func (l *LaterTopics) create(ctx context.Context, of driver.Channel, s driver.ChannelSpec) (cluster.Topic, error) {
	own, err := l.p.cluster.Find(ctx, l.p.channels.Topic(of))
	if err != nil {
		return own, err
	}
	config := maps.Clone(topicConfig(l.p.channels.Uses(s.Channel), s))
	config["cleanup.policy"], config["message.timestamp.type"] = "compact", "LogAppendTime"
	config["retention.ms"], config["retention.bytes"] = "-1", "-1"
	config["segment.bytes"] = strconv.Itoa(laterSegment)
	config["max.message.bytes"] = strconv.Itoa(int(l.p.cluster.Limit(own.Name)) + laterRoom)
	return l.p.Create(ctx, Wish{
		Name: layout.Later(l.p.channels.Names, of), Partitions: own.Partitions, Config: config,
	}, l.p.replication)
}
