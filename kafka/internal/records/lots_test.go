package records

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// If a retry cannot be copied, the message is delivered again, and its key is free once it is settled otherwise.
func TestAKeyIsFreeWhenItsMessageIsFinished(t *testing.T) {
	l, e := newTestLedger(t, parks)
	in := l.begin(10)
	rec := func(offset int64) *kgo.Record { return &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset} }
	in.admit(e, rec(0))
	m := in.Out[0]
	if m.stage != delivered || m.stands != parking.InHand {
		t.Fatalf("the message is %s, with standing %d", m.stage, m.stands)
	}
	l.move(m, retrying)
	l.lots.reserve(m, time.Now().Add(time.Minute))
	l.lots.reclaim(m)
	l.move(m, delivered)
	in = l.begin(10)
	in.admit(e, rec(1))
	if len(in.Out) > 0 || len(in.Moved) != 1 {
		t.Error("a later message of the key is delivered, or blocks its partition")
	}
	l.lots.reserve(in.Moved[0], time.Now())
	l.lots.reclaim(in.Moved[0]) // this message could not be moved either
	l.delay(in.Moved[0], time.Now().Add(-time.Second))
	l.move(m, finished)
	in = l.begin(10)
	if in.resume(l.delays.take(in.now)); len(in.Moved) > 0 || len(in.Out) != 1 {
		t.Errorf("%d messages are moved, %d delivered, want that the next one is delivered", len(in.Moved), len(in.Out))
	}
}

// The parked messages of a partition are forgotten when its epoch ends. Otherwise the next epoch would wait for
// messages that another member handles.
func TestParkedKeysEndWithTheirEpoch(t *testing.T) {
	l, e := newTestLedger(t, parks)
	in := l.begin(10)
	in.admit(e, ofKey(0))
	m := in.Out[0]
	l.lots.reserve(l.claim(driver.Handle{Ref: m, Seq: m.Use}, retrying), time.Now())
	l.move(m, finished) // its copy is in the tier
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.Moved) != 1 {
		t.Fatal("the next message of the key is not moved behind the parked one")
	}
	l.Epochs.Discard([]*Epoch{e})
	l.Epochs.Assign(e.member, map[string][]int32{"orders": {0}})
	e = l.Epochs.Start(e.member, wire.Partition{Topic: "orders"}, 1, "")
	in = l.begin(10)
	if in.admit(e, ofKey(1)); len(in.Out) != 1 {
		t.Error("the key waits for a message of an earlier epoch")
	}
}
