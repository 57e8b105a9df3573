package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// brokerMaxBytes is what brokers take in one batch unless a topic says otherwise (max.message.bytes).
	brokerMaxBytes = 1_048_588
	// largestBatch bounds what franz-go joins into one request where a topic takes more.
	largestBatch = 100 << 20
)

// limit is the largest batch that a topic takes, as far as known.
func (b *Backend) limit(topic string) int32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n, ok := b.limits[topic]; ok {
		return n
	}
	return brokerMaxBytes
}

// learnLimit asks for a topic's max.message.bytes. Where that is not permitted, brokers' default is assumed.
func (b *Backend) learnLimit(ctx context.Context, topic string) error {
	all, err := b.admin.DescribeTopicConfigs(ctx, topic)
	if err == nil {
		var one = brokerMaxBytes
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
			b.mu.Lock()
			b.limits[topic] = int32(one)
			b.mu.Unlock()
			return nil
		}
	}
	if class := failure.ClassOf(err); class.Passing() {
		return fmt.Errorf("ask how large the messages of topic %s may be: %w", topic, failure.Classify(err))
	}
	return nil
}
