package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// brokerMaxBytes is what brokers take in one batch unless a topic says otherwise (max.message.bytes).
	brokerMaxBytes = 1_048_588
	// batchOverhead is what a batch of one record has around its record, at most: the batch's header, and the lengths and
	// differences that the record begins with.
	batchOverhead = 61 + 5 + 1 + 10 + 5 + 5 + 5 + 5
	// headerOverhead is what a header has beside its name and value, at most.
	headerOverhead = 5 + 5
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
	if class := classOf(err); class.Passing() {
		return fmt.Errorf("ask how large the messages of topic %s may be: %w", topic, classify(err))
	}
	return nil
}

// wireSize is how large a record is on the wire, at most, in a batch of its own.
func wireSize(r *kgo.Record) int {
	n := batchOverhead + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += headerOverhead + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}
