package assign

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Partitioner sends a record to the partition of its key, with the hash of Kafka's own clients, so that other clients
// choose the same partition. A dead letter, or a record in a tier, has the partition of its original: readers look for
// it there. A topic of dead letters may have fewer partitions. A tier may not, because the member that reads the
// original's partition would not read the copy.
func Partitioner(names layout.Names) kgo.Partitioner {
	return partitioner{kgo.StickyKeyPartitioner(nil), names}
}

type partitioner struct {
	byKey kgo.Partitioner
	names layout.Names
}

func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	switch {
	case p.names.Waits(topic):
		return waiter{}
	case p.names.Follows(topic):
		return follower{}
	}
	return p.byKey.ForTopic(topic)
}

// waiter takes the partition that is written in the record. If the topic does not have it, as far as the client knows,
// the client refuses the record.
type waiter struct{}

func (waiter) RequiresConsistency(*kgo.Record) bool { return true }

func (waiter) Partition(r *kgo.Record, _ int) int { return int(r.Partition) }

// follower uses the partition that the record already has.
type follower struct{}

func (follower) RequiresConsistency(*kgo.Record) bool { return true }

func (follower) Partition(r *kgo.Record, n int) int { return int(r.Partition) % n }
