package assign

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A key has the partition that Kafka's own clients choose. The hashes are those in the tests of Kafka's Java client.
func TestThePartitionOfAKey(t *testing.T) {
	const partitions = 100
	p := Partitioner().ForTopic("orders")
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107,
	} {
		want := int(hash&0x7fff_ffff) % partitions
		if got := p.Partition(&kgo.Record{Key: []byte(key)}, partitions); got != want {
			t.Errorf("key %q is in partition %d, want %d", key, got, want)
		}
	}
}

// A dead letter and a record in a tier have the partition of their original, whatever their key. With fewer partitions,
// a dead letter gets another one of the topic's. A record in a tier does not: the client refuses it.
func TestCopiesKeepTheirPartition(t *testing.T) {
	for topic, twelfth := range map[string]int{"orders.orders.dlq": 2, "orders.orders.retry.5s": 12} {
		p := Partitioner().ForTopic(topic)
		for partition, want := range map[int32]int{0: 0, 7: 7, 12: twelfth} {
			if got := p.Partition(&kgo.Record{Key: []byte("21"), Partition: partition}, 10); got != want {
				t.Errorf("%s: partition %d became %d, want %d", topic, partition, got, want)
			}
		}
	}
}
