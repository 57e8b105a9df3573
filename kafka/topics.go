package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// brokerMaxBytes is what brokers take in one batch unless a topic says otherwise (max.message.bytes).
	brokerMaxBytes = 1_048_588
	// largestBatch bounds what franz-go joins into one request where a topic takes more.
	largestBatch = 100 << 20
)

// topics asks brokers for topics, and remembers how large their batches may be.
type topics struct {
	client *client.Client
	admin  *kadm.Client

	mu     sync.Mutex
	limits map[string]int32 // max.message.bytes by topic, once asked
}

// topic is what is known of a topic.
type topic struct {
	name       string
	id         kadm.TopicID
	partitions int
	replicas   int // of its first partition
}

// find asks for a topic; one that does not exist is of class NotFound. It asks a broker: what the client remembers may
// be five seconds old, and a topic that was just made would be waited for as long.
func (t *topics) find(ctx context.Context, name string) (topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &name
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, t.client)
	if err != nil {
		return topic{}, fmt.Errorf("ask for topic %s: %w", name, failure.Classify(err))
	}
	for _, got := range resp.Topics {
		if got.Topic == nil || *got.Topic != name {
			continue
		}
		switch err := kerr.ErrorForCode(got.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return topic{}, failure.Missing(name)
		case err != nil:
			return topic{}, fmt.Errorf("ask for topic %s: %w", name, failure.Classify(err))
		}
		t := topic{name: name, id: got.TopicID, partitions: len(got.Partitions)}
		if len(got.Partitions) > 0 {
			t.replicas = len(got.Partitions[0].Replicas)
		}
		return t, nil
	}
	return topic{}, failure.Missing(name)
}

// limit is the largest batch that a topic takes, as far as known.
func (t *topics) limit(topic string) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.limits[topic]; ok {
		return n
	}
	return brokerMaxBytes
}

// learnLimit asks for a topic's max.message.bytes. Where that is not permitted, brokers' default is assumed.
func (t *topics) learnLimit(ctx context.Context, topic string) error {
	all, err := t.admin.DescribeTopicConfigs(ctx, topic)
	if err == nil {
		one := brokerMaxBytes
		r, rerr := all.On(topic, nil)
		if err = rerr; err == nil {
			err = r.Err
		}
		for _, c := range r.Configs {
			if c.Key == "max.message.bytes" && c.Value != nil {
				if n, perr := strconv.Atoi(*c.Value); perr == nil && n > 0 {
					one = min(n, largestBatch)
				}
			}
		}
		if err == nil {
			t.mu.Lock()
			t.limits[topic] = int32(one)
			t.mu.Unlock()
			return nil
		}
	}
	if class := failure.ClassOf(err); class.Passing() {
		return fmt.Errorf("ask how large the messages of topic %s may be: %w", topic, failure.Classify(err))
	}
	return nil
}
