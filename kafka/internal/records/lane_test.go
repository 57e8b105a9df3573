package records

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
)

// roundMost is how many messages a round delivers.
const roundMost = 2_000

// hot is a partition in which half of the records have the key k, which waits. The other records are finished at once.
type hot struct {
	*testing.T
	l     *Ledger
	e     *Epoch
	held  []*Message // delivered messages of key k
	sizes int        // length of a body
}

func newHot(t *testing.T) *hot {
	l, e := newTestLedger(t, func(r *Rules) { r.Commit = 1 << 20 }) // nothing is committed
	return &hot{T: t, l: l, e: e, sizes: 1}
}

func (h *hot) record(offset int64) *kgo.Record {
	r := &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset, Value: make([]byte, h.sizes)}
	if offset%2 == 1 {
		r.Key = fmt.Appendf(nil, "other%d", offset%100)
	}
	return r
}

// read admits records up to an offset, round by round, and finishes the records of other keys.
func (h *hot) read(to int64) {
	h.Helper()
	for h.e.next < to {
		from := max(h.e.next, 0)
		var rs []*kgo.Record
		for o := from; o < min(from+1000, to); o++ {
			rs = append(rs, h.record(o))
		}
		h.e.backlog.Bring(rs)
		h.take(h.l.begin(roundMost))
		if !h.e.backlog.Empty() {
			h.Fatalf("no more records are admitted at offset %d", h.e.next)
		}
	}
}

// take finishes the messages of a round that have other keys, and keeps those of key k, the first of which has failed.
func (h *hot) take(in *Round) {
	in.returnLanes()
	in.admitBacklogs()
	for _, m := range in.Out {
		if string(m.Record.Key) == "k" {
			h.held = append(h.held, m)
		} else {
			h.l.move(m, finished)
		}
	}
	if len(h.held) > 0 {
		h.held[0].Attempt = max(h.held[0].Attempt, 1)
	}
}

// finish finishes the first message of key k, and checks the order.
func (h *hot) finish(want int64) {
	h.Helper()
	m := h.held[0]
	h.held = h.held[1:]
	if m.Record.Offset != want {
		h.Fatalf("record %d is the first of its key, want %d", m.Record.Offset, want)
	}
	h.l.move(m, finished)
}

// A waiting key takes little room in the tracker and few places: records beyond its bound are forgotten. A short commit
// records that they are unfinished, and all others finished.
func TestAKeyThatWaitsHoldsLittle(t *testing.T) {
	for name, size := range map[string]int{"many": 1, "large": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			h := newHot(t)
			h.sizes = size
			h.read(int64(max(400_000/size, 5000)))
			ln := h.e.lanes.byHash[offsets.Hash([]byte("k"))]
			if ln == nil || !ln.aside || ln.missing < 0 {
				t.Fatalf("the lane is %+v", ln)
			}
			// One round admits 1,000 records before the partition counts as strained.
			if n := len(h.held); n > laneMost+4096 || ln.bytes > 2*laneBytes+1000*size {
				t.Errorf("%d records with %d bytes are held", n, ln.bytes)
			}
			h.held[0].started(7)
			c, _ := h.e.tracker.Commit()
			if c.Offset != 0 || len(c.Metadata) > 100 {
				t.Errorf("the commit is at %d with %d characters", c.Offset, len(c.Metadata))
			}
			next := afterACrash(h, c)
			for o := range h.e.next {
				_, attempt, a := next.Admit(o, 0, h.record(o).Key)
				if (a == offsets.Run) != (o%2 == 0) || (attempt == 7) != (o == 0) {
					t.Fatalf("record %d after a crash: %v, %d attempts", o, a, attempt)
				}
				if o > 500 {
					break
				}
			}
		})
	}
}

// afterACrash is the tracker of the next process.
func afterACrash(h *hot, c offsets.Commit) *offsets.Tracker {
	l := New(h.l.Rules)
	l.Epochs.Assign(h.e.member, map[string][]int32{"orders": {0}})
	return l.Epochs.Start(h.e.member, h.e.Partition, c.Offset, c.Metadata).tracker
}

// In a backlog whose keys all progress, no key is counted, and no record is forgotten, however many partitions share
// the places and however few keys there are. After some time without progress they are.
func TestABacklogIsNotSlow(t *testing.T) {
	l, e := newTestLedger(t)
	admit := func() *Round {
		var rs []*kgo.Record
		for o := max(e.next, 0); len(rs) < roundMost; o++ {
			rs = append(rs, &kgo.Record{Topic: "orders", Key: fmt.Append(nil, o%2), Offset: o})
		}
		e.backlog.Bring(rs)
		in := l.begin(roundMost)
		in.admitBacklogs()
		return in
	}
	var open []*Message
	for range Window / roundMost {
		open = append(open, admit().Out...)
	}
	if e.lanes.byHash != nil || len(open) != Window/roundMost*roundMost {
		t.Errorf("%d records are admitted, with lanes: %t", len(open), e.lanes.byHash != nil)
	}
	open[0].came = open[0].came.Add(-slowAfter)
	l.move(open[1], finished)
	for _, m := range admit().Out {
		if string(m.Record.Key) != "1" {
			t.Fatalf("record %d is admitted behind a slow one of its key", m.Record.Offset)
		}
	}
	if e.lanes.byHash == nil {
		t.Error("a slow record makes no lanes")
	}
}

// A member that finds only records of the waiting key does not read the whole log.
func TestAKeyAloneIsNotReadAhead(t *testing.T) {
	h := newHot(t)
	h.read(20_000)
	var rs []*kgo.Record
	for o := h.e.next; len(rs) < 2*forgottenMost; o += 2 {
		rs = append(rs, h.record(o))
	}
	h.e.backlog.Bring(rs)
	h.take(h.l.begin(roundMost))
	if h.e.lanes.forgotten != forgottenMost || h.e.backlog.Empty() {
		t.Errorf("%d records in a row were forgotten", h.e.lanes.forgotten)
	}
}

// On a channel that is not ordered, messages without a key have no order, and no lane.
func TestNoKeyNoLane(t *testing.T) {
	ls := lanes{byHash: map[uint64]*lane{}}
	if ls.of(nil) != nil {
		t.Error("there is a lane")
	}
	ls.ordered = true
	if ls.of(nil) == nil {
		t.Error("there is no lane on an ordered channel")
	}
}
