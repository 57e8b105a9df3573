package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
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

// topics requests topics from brokers, and keeps the size limits of their batches.
type topics struct {
	client *client.Client
	admin  *kadm.Client

	mu     sync.Mutex
	limits map[string]int32 // max.message.bytes by topic, of topics that were looked up
}

// topic is what Godwit needs to know of a topic.
type topic struct {
	name       string
	id         kadm.TopicID
	partitions int
	replicas   int    // of its first partition
	cluster    string // the id of its cluster; "": the brokers do not say
}

// find looks up a topic; the error for a missing one is of class NotFound. It sends a request, because the client's own
// metadata may be five seconds old: a new topic would be missing for that long.
func (t *topics) find(ctx context.Context, name string) (topic, error) {
	return lookUp(ctx, t.client, name)
}

// findEverywhere is find of all brokers: a broker learns of a new topic or partition later than others, and any of them
// may get the next request. It returns the topic as the broker knows it that has fewest partitions of it. A broker that
// does not answer is left out.
func (t *topics) findEverywhere(ctx context.Context, name string) (topic, error) {
	least, err := t.find(ctx, name)
	for _, b := range t.client.DiscoveredBrokers() {
		if err != nil {
			break
		}
		limited, cancel := context.WithTimeout(ctx, brokerPatience)
		switch one, berr := lookUp(limited, b, name); {
		case driver.ClassOf(berr) == driver.NotFound:
			least, err = topic{}, berr
		case berr == nil && one.partitions < least.partitions:
			least = one
		}
		cancel()
	}
	return least, err
}

// lookUp requests a topic.
func lookUp(ctx context.Context, from kmsg.Requestor, name string) (topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &name
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, from)
	if err != nil {
		return topic{}, fmt.Errorf("look up topic %s: %w", name, failure.Classify(err))
	}
	for _, got := range resp.Topics {
		if got.Topic == nil || *got.Topic != name {
			continue
		}
		switch err := kerr.ErrorForCode(got.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return topic{}, failure.Missing(name)
		case err != nil:
			return topic{}, fmt.Errorf("look up topic %s: %w", name, failure.Classify(err))
		}
		t := topic{name: name, id: got.TopicID, partitions: len(got.Partitions)}
		if resp.ClusterID != nil {
			t.cluster = *resp.ClusterID
		}
		if len(got.Partitions) > 0 {
			t.replicas = len(got.Partitions[0].Replicas)
		}
		return t, nil
	}
	return topic{}, failure.Missing(name)
}

// limit is the largest batch that a topic takes. Before learnLimit has looked it up, it is the brokers' default.
func (t *topics) limit(topic string) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.limits[topic]; ok {
		return n
	}
	return brokerMaxBytes
}

// learnLimit looks up a topic's max.message.bytes. If that is not permitted, the brokers' default is used.
func (t *topics) learnLimit(ctx context.Context, topic string) error {
	configs, err := t.configs(ctx, topic)
	if err == nil {
		one := brokerMaxBytes
		if n, perr := strconv.Atoi(configOf(configs, "max.message.bytes")); perr == nil && n > 0 {
			one = min(n, largestBatch)
		}
		t.mu.Lock()
		t.limits[topic] = int32(one)
		t.mu.Unlock()
		return nil
	}
	if class := failure.ClassOf(err); class.Passing() {
		return fmt.Errorf("look up max.message.bytes of topic %s: %w", topic, failure.Classify(err))
	}
	return nil
}

// configs looks up the configuration of a topic. Its error is not classified.
func (t *topics) configs(ctx context.Context, topic string) ([]kadm.Config, error) {
	all, err := t.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	r, err := all.On(topic, nil)
	if err == nil {
		err = r.Err
	}
	return r.Configs, err
}

// configOf is the value of a setting; "": it has none.
func configOf(configs []kadm.Config, key string) string {
	for _, c := range configs {
		if c.Key == key && c.Value != nil {
			return *c.Value
		}
	}
	return ""
}
