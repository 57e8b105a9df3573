package assign

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Partitioner sends a record to the partition of its key, hashed as Kafka's own clients do it, so that other clients
// agree. Dead letters and records in tiers keep the partition of the record that they are a copy of: there they are
// looked for. A topic of dead letters may have fewer partitions, and a tier may not: the member that reads the record's
// partition would not read its copy.
func Partitioner() kgo.Partitioner { return partitioner{kgo.StickyKeyPartitioner(nil)} }

type partitioner struct{ byKey kgo.Partitioner }

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	switch {
	case layout.Waits(topic):
		return waiter{}
	case layout.Follows(topic):
		return follower{}
	}
	return p.byKey.ForTopic(topic)
}

// waiter takes the partition that is written in the record. If the topic does not have it, as far as the client knows,
// the client refuses the record.
type waiter struct{}

func (waiter) RequiresConsistency(*kgo.Record) bool { return true }

func (waiter) Partition(r *kgo.Record, _ int) int { return int(r.Partition) }

// follower takes the partition that is written in the record.
type follower struct{}

func (follower) RequiresConsistency(*kgo.Record) bool { return true }

func (follower) Partition(r *kgo.Record, n int) int { return int(r.Partition) % n }
