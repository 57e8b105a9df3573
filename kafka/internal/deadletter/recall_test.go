package deadletter

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// A dead letter names its original, and counts only for the topic, the topic's id and the group of the source.
func TestTheOriginalOfALetter(t *testing.T) {
	letter := Copy(&kgo.Record{Topic: "orders", Partition: 3, Offset: 7}, "billing", &driver.Death{}, 1)
	wire.SetHeader(letter, LogHeader, "id")
	of := Source{Topic: "orders", Log: "id", Group: "billing"}
	if n, offset, ok := of.record(letter); !ok || n != 3 || offset != 7 {
		t.Errorf("the original is offset %d of partition %d, %v", offset, n, ok)
	}
	for name, other := range map[string]Source{
		"another topic": {"mails", "id", "billing"}, "created again": {"orders", "id2", "billing"},
		"another group": {"orders", "id", "audit"},
	} {
		if _, _, ok := other.record(letter); ok {
			t.Errorf("%s: the letter counts", name)
		}
	}
	wire.SetHeader(letter, OffsetHeader, "seven")
	if _, _, ok := of.record(letter); ok {
		t.Error("an offset that is not a number counts")
	}
}

// Letters of a partition are in the partition of the same number, or of its remainder if there are fewer partitions.
func TestThePartitionOfLetters(t *testing.T) {
	l := Log{topic: "dlq", starts: kadm.ListedOffsets{}, ends: kadm.ListedOffsets{"dlq": {
		0: {Topic: "dlq", Partition: 0, Offset: 10},
		1: {Topic: "dlq", Partition: 1, Offset: 20},
	}}}
	for n, want := range map[int32]int64{0: 10, 1: 20, 2: 10, 5: 20} {
		if got := l.End(n); got != want {
			t.Errorf("the letters of partition %d end at %d, want %d", n, got, want)
		}
	}
	if got := (Log{topic: "dlq"}).End(3); got != 0 {
		t.Errorf("without a topic the letters end at %d", got)
	}
}

// Known has the records that were added, and no others.
func TestKnownLetters(t *testing.T) {
	k := Known{}
	k.add(1, 5, 0)
	if !k.Has(1, 5) || k.Has(1, 6) || k.Has(0, 5) {
		t.Errorf("the known records are %v", k)
	}
}
