package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

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

// see records what a channel's topic is now.
func (p *provisioner) see(ctx context.Context, t topic) error {
	former := formerTopic{partitions: t.partitions, replicas: t.replicas}
	if p.o.RecreateTopics {
		var err error
		if former.config, err = p.configured(ctx, t.name); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[t.name] = former
	return nil
}

// former is what a topic was; false: it was never seen.
func (p *provisioner) former(name string) (formerTopic, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.seen[name]
	return f, ok
}

// configured is the configuration that was set for a topic itself.
func (p *provisioner) configured(ctx context.Context, name string) (map[string]string, error) {
	configs, err := p.topics.configs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of topic %s: %w", name, failure.Classify(err))
	}
	config := map[string]string{}
	for _, c := range configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig && c.Value != nil {
			config[c.Key] = *c.Value
		}
	}
	return config, nil
}
