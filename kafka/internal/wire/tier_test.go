package wire

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A copy in a tier has the content of its original, its partition, and headers with the original's position, the due
// time, which is not earlier than asked, and the number of starts. A copy of a copy names the first original.
func TestTierRecords(t *testing.T) {
	due := time.UnixMilli(1_000).Add(time.Microsecond)
	first := ForTier(&kgo.Record{
		Topic: "orders", Partition: 3, Offset: 7, Key: []byte("k"), Value: []byte("v"),
		Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("x")}},
	}, due, 2, time.Time{})
	first.Topic, first.Offset = "orders.orders.retry.5s", 99
	second := ForTier(first, due, 3, time.Time{})
	for starts, r := range map[int32]*kgo.Record{2: first, 3: second} {
		if string(r.Key) != "k" || string(r.Value) != "v" || r.Partition != 3 || Header(r, "own") != "x" {
			t.Errorf("the copy is %+v", r)
		}
		if home, ok := HomeOf(r); !ok || home.String() != "orders/3/7" {
			t.Errorf("the original of the copy is %s", home)
		}
		if at, ok := Due(r); !ok || at.Before(due) || at.Sub(due) > time.Millisecond {
			t.Errorf("the copy is due at %v, want %v", at, due)
		}
		if n := Starts(r); n != starts {
			t.Errorf("the copy has %d starts, want %d", n, starts)
		}
	}
}
