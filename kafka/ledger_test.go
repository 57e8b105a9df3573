package kafka

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// ofKey is a record of key k.
func ofKey(offset int64) *kgo.Record {
	return &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset, Value: []byte("body")}
}

// What was parked of a partition is forgotten with its epoch, or else the next one would wait for what another member
// handles.
func TestParkedKeysEndWithTheirEpoch(t *testing.T) {
	l, e := newTestLedger(t, Options{Retries: RetryPark})
	in := l.begin(10)
	in.admit(e, ofKey(0))
	m := in.out[0]
	l.lots.reserve(l.claim(driver.Handle{Ref: m, Seq: m.use}, retrying), time.Now())
	l.move(m, finished) // its copy is in the tier
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.move) != 1 {
		t.Fatal("the next of the key is not moved behind it")
	}
	l.discard([]*epoch{e})
	l.assign(e.member, map[string][]int32{"orders": {0}})
	e = l.start(e.member, wire.Partition{Topic: "orders"}, 1, "")
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.out) != 1 {
		t.Error("the key waits for what was parked before")
	}
}

// A discarded epoch returns its places; what the core still has of it changes nothing.
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

// A partition is left when what a poll under way brings is admitted, not before: it could be taken for records of the
// next epoch.
func TestLeavingWaitsForThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, e := newTestLedger(t, Options{})
		waiting, cancel := l.wakeup.begin(t.Context(), time.Hour)
		defer cancel()
		left := make(chan int, 1)
		go func() { left <- len(l.leave(e.member, map[string][]int32{"orders": {0, 7}})) }()
		synctest.Wait()
		if waiting.Err() == nil {
			t.Fatal("the poll under way waits on")
		}
		select {
		case <-left:
			t.Fatal("the partition is left while a poll is under way")
		default:
		}
		in := l.bring(e.member, kgo.Fetches{{Topics: []kgo.FetchTopic{{
			Topic:      "orders",
			Partitions: []kgo.FetchPartition{{Records: []*kgo.Record{ofKey(0)}}},
		}}}}, 10)
		if len(in.out) > 0 {
			t.Error("a record is admitted of a partition that is being left")
		}
		l.wakeup.done()
		if n := <-left; n != 1 {
			t.Errorf("%d epochs are left, want 1", n)
		}
	})
}

// What a group tells a member that was replaced counts no more.
func TestReplacedMembersGetNothing(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	l.retire(e.member)
	l.discard(l.of(e.member))
	l.assign(e.member, map[string][]int32{"orders": {0}})
	if es := l.of(e.member); len(es) > 0 {
		t.Errorf("it has %d epochs", len(es))
	}
	other := newMember(nil)
	l.assign(other, map[string][]int32{"orders": {0}})
	if l.start(e.member, wire.Partition{Topic: "orders"}, 0, "") != nil ||
		len(l.leave(e.member, map[string][]int32{"orders": {0}})) > 0 {
		t.Error("it begins or leaves an epoch of the one in its place")
	}
}

// Metadata that the broker calls too large is shorter from then on.
func TestMetadataBecomesShorter(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	for i := range 20_000 {
		m := l.at(t, e, delivered)
		if i%7*i%5 == 3 {
			l.move(m, finished)
		}
	}
	before, _ := e.tracker.Commit()
	newCommitter(l.sub, l).shorten(told{e: e, c: before})
	after, _ := e.tracker.Commit()
	if len(after.Metadata) >= len(before.Metadata) || len(before.Metadata) < 1000 {
		t.Errorf("metadata of %d characters after %d", len(after.Metadata), len(before.Metadata))
	}
}
