package records

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The room for waiting messages ends by their number or by their bytes, whichever is reached first. Half of it is the
// bound for records that are read again.
func TestWaitingMessagesAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ size, half, full int }{
		"by number": {1, waitingMost / 2, waitingMost},
		"by bytes":  {1 << 20, waitingBytes >> 21, waitingBytes >> 20},
	} {
		var e Epoch
		m := &Message{Record: &kgo.Record{Value: make([]byte, c.size)}}
		half, full := 0, 0
		for n := 1; full == 0 && n <= waitingMost; n++ {
			if e.wait(m, 1); e.halfCrowded() && half == 0 {
				half = n
			}
			if e.crowded() {
				full = n
			}
		}
		if half != c.half || full != c.full {
			t.Errorf("%s: half of the room is taken by %d messages and all by %d, want %d and %d", name, half, full,
				c.half, c.full)
		}
		if e.wait(m, -1); e.crowded() {
			t.Errorf("%s: there is no room after a message has stopped waiting", name)
		}
	}
}

// An epoch that is left drops its polled records, because another member handles them.
func TestALeavingEpochHasNoBacklog(t *testing.T) {
	_, e := newTestLedger(t)
	e.backlog.Bring([]*kgo.Record{ofKey(0)})
	e.leave()
	if e.state != epochLeaving || !e.backlog.Empty() {
		t.Errorf("the epoch is in state %d; its backlog is empty: %v", e.state, e.backlog.Empty())
	}
}

// Finished messages count as uncommitted until the commit with them is answered.
func TestUncommittedMessages(t *testing.T) {
	l, e := newTestLedger(t)
	for range 3 {
		l.move(l.at(t, e, delivered), finished)
	}
	c, _ := e.tracker.Commit()
	x := Part{Epoch: e, Commit: c, finished: e.finished}
	l.move(l.at(t, e, delivered), finished)
	if n := e.uncommitted(); n != 4 {
		t.Errorf("%d messages are uncommitted before the answer, want 4", n)
	}
	l.Answered(false, x)
	if n := e.uncommitted(); n != 1 {
		t.Errorf("%d messages are uncommitted after the answer, want 1", n)
	}
}
