package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// brokerMaxBytes is the size limit of a batch unless the topic's max.message.bytes says otherwise.
	brokerMaxBytes = 1_048_588
	// largestBatch bounds the batches of franz-go if a topic takes larger ones.
	largestBatch = 100 << 20
	// brokerPatience is how long one broker may take to answer what others can answer, too.
	brokerPatience = 2 * time.Second
)

// Topic is what Godwit needs to know of a topic.
type Topic struct {
	Name       string
	ID         kadm.TopicID
	Partitions int
	Replicas   int             // of each partition
	Leaders    map[int32]int32 // by partition
	Cluster    string          // the id of its cluster; "": the brokers do not say
	Err        error           // why the brokers do not show it
}

// Find looks up a topic; the error for a missing one is of class NotFound. It sends a request, because the client's own
// metadata may be five seconds old: a new topic would be missing for that long.
func (c *Cluster) Find(ctx context.Context, name string) (Topic, error) {
	return lookUp(ctx, c.Client, name)
}

// FindEverywhere is Find of all brokers: a broker learns of a new topic or partition later than others, and any of them
// may get the next request. It returns the topic as the broker knows it that has fewest partitions of it. A broker that
// does not answer is left out.
func (c *Cluster) FindEverywhere(ctx context.Context, name string) (Topic, error) {
	least, err := lookUp(ctx, c.Client, name)
	for _, b := range c.DiscoveredBrokers() {
		if err != nil {
			break
		}
		limited, cancel := context.WithTimeout(ctx, brokerPatience)
		switch one, berr := lookUp(limited, b, name); {
		case driver.ClassOf(berr) == driver.NotFound:
			least, err = Topic{}, berr
		case berr == nil && one.Partitions < least.Partitions:
			least = one
		}
		cancel()
	}
	return least, err
}

// lookUp requests a topic.
func lookUp(ctx context.Context, from kmsg.Requestor, name string) (Topic, error) {
	all, _, err := request(ctx, from, name)
	if err != nil {
		return Topic{}, fmt.Errorf("look up topic %s: %w", name, failure.Classify(err))
	}
	switch t, there := all[name]; {
	case !there, errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		return Topic{}, failure.Missing(name)
	case t.Err != nil:
		return Topic{}, fmt.Errorf("look up topic %s: %w", name, failure.Classify(t.Err))
	default:
		return t, nil
	}
}

// Topics requests topics, or all of them if there are no names. It also returns the number of brokers.
func (c *Cluster) Topics(ctx context.Context, names ...string) (all map[string]Topic, brokers int, err error) {
	if all, brokers, err = request(ctx, c.Client, names...); err != nil {
		err = fmt.Errorf("look up topics: %w", failure.Classify(err))
	}
	return all, brokers, err
}

func request(ctx context.Context, from kmsg.Requestor, names ...string) (all map[string]Topic, brokers int, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = &name
		req.Topics = append(req.Topics, one)
	}
	resp, err := req.RequestWith(ctx, from)
	if err != nil {
		return nil, 0, err
	}
	all = map[string]Topic{}
	for _, got := range resp.Topics {
		if got.Topic == nil {
			continue
		}
		t := Topic{
			Name: *got.Topic, ID: got.TopicID, Partitions: len(got.Partitions), Leaders: map[int32]int32{},
			Err: kerr.ErrorForCode(got.ErrorCode),
		}
		if resp.ClusterID != nil {
			t.Cluster = *resp.ClusterID
		}
		for _, p := range got.Partitions {
			t.Leaders[p.Partition] = p.Leader
			t.Replicas = len(p.Replicas)
		}
		all[t.Name] = t
	}
	return all, len(resp.Brokers), nil
}

// Limit is the largest batch that a topic takes. Before LearnLimit has looked it up, it is the brokers' default.
func (c *Cluster) Limit(topic string) int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.limits[topic]; ok {
		return n
	}
	return brokerMaxBytes
}

// LearnLimit looks up a topic's max.message.bytes. If that is not permitted, the brokers' default is used.
func (c *Cluster) LearnLimit(ctx context.Context, topic string) error {
	configs, err := c.Configs(ctx, topic)
	if err == nil {
		one := brokerMaxBytes
		if n, perr := strconv.Atoi(ConfigOf(configs, "max.message.bytes")); perr == nil && n > 0 {
			one = min(n, largestBatch)
		}
		c.mu.Lock()
		c.limits[topic] = int32(one)
		c.mu.Unlock()
		return nil
	}
	if class := failure.ClassOf(err); class.Passing() {
		return fmt.Errorf("look up max.message.bytes of topic %s: %w", topic, failure.Classify(err))
	}
	return nil
}

// Configs looks up the configuration of a topic. Its error is not classified.
func (c *Cluster) Configs(ctx context.Context, topic string) ([]kadm.Config, error) {
	all, err := c.Admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	r, err := all.On(topic, nil)
	if err == nil {
		err = r.Err
	}
	return r.Configs, err
}

// ConfigOf is the value of a setting; "": it has none.
func ConfigOf(configs []kadm.Config, key string) string {
	for _, c := range configs {
		if c.Key == key && c.Value != nil {
			return *c.Value
		}
	}
	return ""
}

// Configured is the configuration of a topic: what was set for the topic itself, and all of it with the defaults.
func (c *Cluster) Configured(ctx context.Context, name string) (set map[string]string, all []kadm.Config, err error) {
	if all, err = c.Configs(ctx, name); err != nil {
		return nil, nil, fmt.Errorf("read the configuration of topic %s: %w", name, failure.Classify(err))
	}
	set = map[string]string{}
	for _, c := range all {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig && c.Value != nil {
			set[c.Key] = *c.Value
		}
	}
	return set, all, nil
}
