package kafkalocal_test

import (
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// A transactional producer that was replaced is told so, also if the new producer's transaction has ended, or if the
// new producer has not done anything yet.
func TestAReplacedProducerIsFenced(t *testing.T) {
	for name, another := range map[string]func(t *testing.T, c *kgo.Client, topic string){
		"by one that finished a transaction": func(t *testing.T, c *kgo.Client, topic string) {
			begin(t, c, topic)
			if err := c.EndTransaction(within(t), kgo.TryCommit); err != nil {
				t.Fatal(err)
			}
		},
		"by one that came": func(t *testing.T, c *kgo.Client, _ string) {
			if _, _, err := c.ProducerID(within(t)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for protocol, versions := range map[string]*kversion.Versions{
			"with implicit partitions": kversion.Stable(),
			"of old":                   kversion.V3_8_0(),
		} {
			t.Run(name+", "+protocol, func(t *testing.T) {
				reach := append(broker(t), kgo.MaxVersions(versions), kgo.RecordPartitioner(kgo.ManualPartitioner()))
				topic, id := unique(), unique()
				create(t, client(t, reach), topic)
				first := client(t, reach, kgo.TransactionalID(id))
				begin(t, first, topic)
				another(t, client(t, reach, kgo.TransactionalID(id)), topic)
				err := first.ProduceSync(within(t), &kgo.Record{Topic: topic, Value: []byte("late")}).FirstErr()
				want(t, "the first one's next record", err, kerr.InvalidProducerEpoch)
			})
		}
	}
}

// It is also told so when it commits.
func TestAReplacedProducerCannotCommit(t *testing.T) {
	reach := broker(t)
	topic, id := unique(), unique()
	create(t, client(t, reach), topic)
	first := client(t, reach, kgo.TransactionalID(id))
	begin(t, first, topic)
	producer, epoch, err := first.ProducerID(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client(t, reach, kgo.TransactionalID(id)).ProducerID(within(t)); err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = id, producer, epoch, true
	resp, err := req.RequestWith(within(t), first)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "its commit", kerr.ErrorForCode(resp.ErrorCode), kerr.ProducerFenced)
}

// begin begins a transaction with one record.
func begin(t *testing.T, c *kgo.Client, topic string) {
	t.Helper()
	if err := c.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	r := &kgo.Record{Topic: topic, Value: []byte("x")}
	if err := c.ProduceSync(within(t), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for leader := int32(-1); leader < 0; { // franz-go aborts what it ends before it has stored the partition
		leader, _, _ = c.PartitionLeader(topic, r.Partition)
		runtime.Gosched()
	}
}
