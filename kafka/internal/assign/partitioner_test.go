package assign

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// A key has the partition that Kafka's own clients choose: murmur2, without its sign. The hashes are those in the tests
// of Kafka's Java client (UtilsTest) and, of the empty key and the last ones, of librdkafka.
func TestThePartitionOfAKey(t *testing.T) {
	p := Partitioner(layout.Names{}).ForTopic("orders")
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string":                       -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107, "": 0x106e08d9, "kafka": -0x2f98309c, "1234": -0x603684ec, "4": 0x5a4b5ca1,
	} {
		for _, partitions := range []int{1, 7, 100, 1024} {
			want := int(hash&0x7fff_ffff) % partitions
			r := &kgo.Record{Key: []byte(key)}
			if got := p.Partition(r, partitions); got != want || !p.RequiresConsistency(r) {
				t.Errorf("of %d partitions, key %q is in %d, want %d", partitions, key, got, want)
			}
		}
	}
}

// Records without a key stay in one partition until their batch is sent, as with Kafka's own clients.
func TestThePartitionWithoutAKey(t *testing.T) {
	p := Partitioner(layout.Names{}).ForTopic("orders")
	next, ok := p.(kgo.TopicPartitionerOnNewBatch)
	if !ok {
		t.Fatal("the partitioner does not learn of new batches")
	}
	used := map[int]bool{}
	for range 200 {
		first := p.Partition(&kgo.Record{}, 8)
		for range 10 {
			if r := (&kgo.Record{}); p.Partition(r, 8) != first || p.RequiresConsistency(r) {
				t.Fatal("a record without a key left the partition of its batch")
			}
		}
		used[first] = true
		next.OnNewBatch()
	}
	if len(used) != 8 {
		t.Errorf("200 batches were in %d partitions of 8", len(used))
	}
}

// A mapped topic has the partitions of its keys, whatever it is called, and mapped dead letters keep theirs.
func TestPartitionsOfMappedTopics(t *testing.T) {
	ps := Partitioner(layout.Names{Mapping: layout.NewMapping("", map[driver.Channel]layout.Place{
		{Queue: "orders"}: {Topic: "shop.retry.orders", DeadLetters: "shop.rejected"},
	})})
	r := &kgo.Record{Key: []byte("abc"), Partition: 4}
	if got, want := ps.ForTopic("shop.retry.orders").Partition(r, 100), 479470107%100; got != want {
		t.Errorf("the key is in partition %d of the mapped topic, want %d", got, want)
	}
	if got := ps.ForTopic("shop.rejected").Partition(r, 100); got != 4 {
		t.Errorf("the dead letter is in partition %d, want 4", got)
	}
}

// A dead letter and a record in a tier have the partition of their original, whatever their key. With fewer partitions,
// a dead letter gets another one of the topic's. A record in a tier does not: the client refuses it.
func TestCopiesKeepTheirPartition(t *testing.T) {
	for topic, twelfth := range map[string]int{"orders.orders.dlq": 2, "orders.orders.retry.5s": 12} {
		p := Partitioner(layout.Names{}).ForTopic(topic)
		for partition, want := range map[int32]int{0: 0, 7: 7, 12: twelfth} {
			if got := p.Partition(&kgo.Record{Key: []byte("21"), Partition: partition}, 10); got != want {
				t.Errorf("%s: partition %d became %d, want %d", topic, partition, got, want)
			}
		}
	}
}
