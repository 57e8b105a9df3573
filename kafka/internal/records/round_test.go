package records

import (
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/discard"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// dueIn is a record that is due after a wait, as the header of its producer says.
func dueIn(wait time.Duration) *kgo.Record {
	r := ofKey(0)
	wire.SetHeader(r, wire.DueHeader, strconv.FormatInt(time.Now().Add(wait).UnixMilli(), 10))
	return r
}

// An admitted record is delivered, waits in this process, moves to a tier, or is discarded.
func TestTheRouteOfARecord(t *testing.T) {
	inTier := func(wait time.Duration) *kgo.Record {
		r := wire.ForTier(ofKey(0), time.Now().Add(wait), 4, time.Time{})
		r.Timestamp = time.Now()
		return r
	}
	none := func(r *Rules) { r.Unordered, r.Blocks, r.Moves, r.Retries = true, false, true, true }
	memory := func(r *Rules) { r.Unordered, r.Blocks, r.Retries = true, false, true }
	for _, c := range []struct {
		name      string
		o         func(r *Rules)
		filter    driver.Filter
		stay      time.Duration
		record    *kgo.Record
		out, move int
		delays    int
		passed    discard.Tally
	}{
		{name: "now", record: ofKey(0), out: 1},
		{name: "later, with tiers", o: none, record: dueIn(time.Hour), move: 1},
		{name: "later, in memory", o: memory, record: dueIn(time.Hour), delays: 1},
		{name: "later, but in order", record: dueIn(time.Hour), out: 1},
		{
			name: "not selected", filter: driver.Filter{Exact: []string{"A"}}, record: ofKey(0),
			passed: discard.Tally{Filtered: 1},
		},
		{
			name: "in a tier, not selected", stay: time.Minute, filter: driver.Filter{Exact: []string{"A"}},
			record: inTier(-time.Second), out: 1,
		},
		{name: "in a tier, due later", stay: time.Minute, record: inTier(time.Second), delays: 1},
		{name: "in a tier, beyond its time", stay: -time.Minute, record: inTier(time.Hour), move: 1},
	} {
		l, e := newTestLedger(t, c.o)
		l.Rules.Filter, e.Stay = c.filter, c.stay
		if c.stay < 0 { // the record has been in the tier for longer than the tier's time
			e.Stay, c.record.Timestamp = -c.stay, time.Now().Add(2*c.stay)
		}
		in := l.begin(10)
		if !in.admit(e, c.record) {
			t.Errorf("%s: the record is not admitted", c.name)
		}
		if len(in.Out) != c.out || len(in.Moved) != c.move || len(l.delays.all) != c.delays || in.Passed != c.passed {
			t.Errorf("%s: %d delivered, %d moved, %d wait, %+v", c.name, len(in.Out), len(in.Moved), len(l.delays.all),
				in.Passed)
		}
		for _, m := range in.Out {
			if c.stay > 0 && m.Attempt != 4 || c.stay == 0 && m.Attempt != 0 {
				t.Errorf("%s: the message has %d attempts", c.name, m.Attempt)
			}
		}
		if got, want := e.tracker.Unfinished(), c.out+c.move+c.delays; got != want {
			t.Errorf("%s: %d unfinished records, want %d", c.name, got, want)
		}
	}
}

// A record that a commit has as finished, or that has a dead letter, is not delivered again.
func TestFinishedRecordsAreDiscarded(t *testing.T) {
	l, e := newTestLedger(t)
	e.dead = map[int64]int64{1: 50}
	e.tracker.Mark(40)
	in := l.begin(10)
	for o := range int64(3) {
		in.admit(e, ofKey(o))
	}
	if len(in.Out) != 2 || in.Out[1].Record.Offset != 2 || in.Passed.Finished != 1 {
		t.Errorf("%d delivered, %+v", len(in.Out), in.Passed)
	}
	if in.admit(e, ofKey(0)); e.dead != nil {
		t.Error("the dead letters of a log that was truncated still count")
	}
}

// A round has room for the messages that one Receive returns, whether they are delivered or moved.
func TestTheRoomOfARound(t *testing.T) {
	in := &Round{most: 5, Out: make([]*Message, 2), Moved: make([]*Message, 1)}
	if n := in.room(); n != 2 {
		t.Errorf("the room is %d, want 2", n)
	}
}
