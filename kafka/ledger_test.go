package kafka

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// ofKey is a record with key k.
func ofKey(offset int64) *kgo.Record {
	return &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset, Value: []byte("body")}
}

// The parked messages of a partition are forgotten when its epoch ends. Otherwise the next epoch would wait for
// messages that another member handles.
func TestParkedKeysEndWithTheirEpoch(t *testing.T) {
	l, e := newTestLedger(t, Options{Retries: RetryPark})
	in := l.begin(10)
	in.admit(e, ofKey(0))
	m := in.out[0]
	l.lots.reserve(l.claim(driver.Handle{Ref: m, Seq: m.use}, retrying), time.Now())
	l.move(m, finished) // its copy is in the tier
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.move) != 1 {
		t.Fatal("the next message of the key is not moved behind the parked one")
	}
	l.discard([]*epoch{e})
	l.assign(e.member, map[string][]int32{"orders": {0}})
	e = l.start(e.member, wire.Partition{Topic: "orders"}, 1, "")
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.out) != 1 {
		t.Error("the key waits for a message of an earlier epoch")
	}
}

// A discarded epoch returns its places. Later reports about its deliveries have no effect.
func TestPlacesEndWithTheirEpoch(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	for range 5 {
		l.at(t, e, delivered)
	}
	l.discard([]*epoch{e})
	l.discard([]*epoch{e})
	l.assign(e.member, map[string][]int32{"orders": {0}})
	next := l.start(e.member, wire.Partition{Topic: "orders"}, 0, "")
	if got := window - l.free(next); got != 0 {
		t.Errorf("%d places are taken", got)
	}
}

// leave returns when the records of the poll in flight are admitted, not earlier: they could be taken for records of
// the next epoch.
func TestLeavingWaitsForThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, e := newTestLedger(t, Options{})
		waiting, cancel := l.wakeup.begin(t.Context(), time.Hour)
		defer cancel()
		left := make(chan int, 1)
		go func() { left <- len(l.leave(e.member, map[string][]int32{"orders": {0, 7}})) }()
		synctest.Wait()
		if waiting.Err() == nil {
			t.Fatal("the poll in flight was not ended")
		}
		select {
		case <-left:
			t.Fatal("the partition was left while a poll is in flight")
		default:
		}
		in := l.bring(e.member, kgo.Fetches{{Topics: []kgo.FetchTopic{{
			Topic:      "orders",
			Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{ofKey(0)}}},
		}}}}, 10)
		if len(in.out) > 0 {
			t.Error("a record was admitted of a partition that is being left")
		}
		l.wakeup.done()
		if n := <-left; n != 1 {
			t.Errorf("%d epochs are left, want 1", n)
		}
	})
}

// Callbacks of a replaced member are ignored.
func TestReplacedMembersGetNothing(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	l.retire(e.member)
	l.discard(l.of(e.member))
	l.assign(e.member, map[string][]int32{"orders": {0}})
	if es := l.of(e.member); len(es) > 0 {
		t.Errorf("the replaced member has %d epochs", len(es))
	}
	other := newMember(nil)
	l.assign(other, map[string][]int32{"orders": {0}})
	if l.start(e.member, wire.Partition{Topic: "orders"}, 0, "") != nil ||
		len(l.leave(e.member, map[string][]int32{"orders": {0}})) > 0 {
		t.Error("the replaced member begins or leaves an epoch of its successor")
	}
}

// Metadata that the broker refuses as too large becomes shorter.
func TestMetadataBecomesShorter(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	for i := range 20_000 {
		m := l.at(t, e, delivered)
		if i%7*i%5 == 3 {
			l.move(m, finished)
		}
	}
	before, _ := e.tracker.Commit()
	newCommitter(l.sub, l).shorten(partitionCommit{e: e, c: before})
	after, _ := e.tracker.Commit()
	if len(after.Metadata) >= len(before.Metadata) || len(before.Metadata) < 1000 {
		t.Errorf("metadata of %d characters after %d", len(after.Metadata), len(before.Metadata))
	}
}
