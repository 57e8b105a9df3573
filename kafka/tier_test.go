package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// A record waits in the shortest tier that is long enough, and in the longest if none is.
func TestTheFittingTier(t *testing.T) {
	q := &tierQueue{tiers: []time.Duration{5 * time.Second, time.Minute, time.Hour}}
	for wait, want := range map[time.Duration]time.Duration{
		-time.Second: 5 * time.Second, 5 * time.Second: 5 * time.Second, 5*time.Second + 1: time.Minute,
		time.Hour: time.Hour, 30 * time.Hour: time.Hour,
	} {
		if got := q.fitting(wait); got != want {
			t.Errorf("a wait of %v fits the tier %v, want %v", wait, got, want)
		}
	}
}

// A copy in a tier has the content of its original, its partition, and headers with the original's position, the due
// time, which is not earlier than asked, and the number of starts. A copy of a copy names the first original.
func TestTierRecords(t *testing.T) {
	due := time.UnixMilli(1_000).Add(time.Microsecond)
	first := tierRecord(&Later{
		Record: &kgo.Record{
			Topic: "orders", Partition: 3, Offset: 7, Key: []byte("k"), Value: []byte("v"),
			Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("x")}},
		}, Due: due, Attempt: 2,
	})
	first.Topic, first.Offset = "orders.orders.retry.5s", 99
	second := tierRecord(&Later{Record: first, Due: due, Attempt: 3})
	for starts, r := range map[int32]*kgo.Record{2: first, 3: second} {
		if string(r.Key) != "k" || string(r.Value) != "v" || r.Partition != 3 || wire.Header(r, "own") != "x" {
			t.Errorf("the copy is %+v", r)
		}
		if home, ok := wire.HomeOf(r); !ok || home.String() != "orders/3/7" {
			t.Errorf("the original of the copy is %s", home)
		}
		if at, ok := wire.Due(r); !ok || at.Before(due) || at.Sub(due) > time.Millisecond {
			t.Errorf("the copy is due at %v, want %v", at, due)
		}
		if n := wire.Starts(r); n != starts {
			t.Errorf("the copy has %d starts, want %d", n, starts)
		}
	}
}
