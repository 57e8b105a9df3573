package kafka

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// partitioner sends a record to the partition of its key, hashed as Kafka's own clients do it, so that other clients agree.
// Dead letters and tiers go to the partition with the number of the one they came from: there they are looked for.
type partitioner struct{ byKey kgo.Partitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if follows(topic) {
		return follower{}
	}
	return p.byKey.ForTopic(topic)
}

// follows says whether a topic's records keep the partition of what they are a copy of.
func follows(topic string) bool {
	return strings.HasSuffix(topic, deadSuffix) || strings.Contains(topic, tierInfix)
}

const (
	deadSuffix = ".dlq"
	tierInfix  = ".retry."
)

// follower takes the record's own word for its partition.
type follower struct{}

func (follower) RequiresConsistency(*kgo.Record) bool { return true }

func (follower) Partition(r *kgo.Record, n int) int { return int(r.Partition) % n }
