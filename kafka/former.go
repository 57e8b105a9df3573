package kafka

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
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
func (p *provisioner) see(ctx context.Context, t cluster.Topic) error {
	former := formerTopic{partitions: t.Partitions, replicas: t.Replicas}
	if p.o.RecreateTopics {
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
func (p *provisioner) former(name string) (formerTopic, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.seen[name]
	return f, ok
}
