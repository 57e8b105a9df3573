package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
)

// hot is a partition, one half of whose records have key k, which waits; the others are finished at once.
type hot struct {
	*testing.T
	l     *ledger
	e     *epoch
	held  []*message // of key k, in the core's hands
	sizes int        // of a body
}

func newHot(t *testing.T) *hot {
	l, e := newTestLedger(t, Options{})
	return &hot{T: t, l: l, e: e, sizes: 1}
}

func (h *hot) rereader() *rereader { return &rereader{h.l.sub, h.l} }

func (h *hot) record(offset int64) *kgo.Record {
	r := &kgo.Record{Topic: "orders", Key: []byte("k"), Offset: offset, Value: make([]byte, h.sizes)}
	if offset%2 == 1 {
		r.Key = fmt.Appendf(nil, "other%d", offset%100)
	}
	return r
}

// read admits records up to an offset, round by round, and finishes those of the other keys.
func (h *hot) read(to int64) {
	h.Helper()
	for h.e.next < to {
		from := max(h.e.next, 0)
		var rs []*kgo.Record
		for o := from; o < min(from+1000, to); o++ {
			rs = append(rs, h.record(o))
		}
		h.e.backlog.Bring(rs)
		h.take(h.l.begin(receiveMost))
		if !h.e.backlog.Empty() {
			h.Fatalf("stuck at offset %d", h.e.next)
		}
	}
}

// take delivers what a round admits.
func (h *hot) take(in *round) {
	in.returnLanes()
	in.admitBacklogs()
	for _, m := range in.out {
		if string(m.record.Key) == "k" {
			h.held = append(h.held, m)
		} else {
			h.l.move(m, finished)
		}
	}
}

// finish finishes the first of key k, and checks the order.
func (h *hot) finish(want int64) {
	h.Helper()
	m := h.held[0]
	h.held = h.held[1:]
	if m.record.Offset != want {
		h.Fatalf("record %d is the first of its key, want %d", m.record.Offset, want)
	}
	h.l.move(m, finished)
}

// A key that waits holds up neither the tracker nor the places: beyond so many, its records are forgotten. The commit
// says in a few characters that they are unfinished, and all others finished.
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
			// A round admits 1,000 before the partition is found to be strained.
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

// afterACrash is the tracker of the next life.
func afterACrash(h *hot, c offsets.Commit) *offsets.Tracker {
	l := newLedger(h.l.sub)
	l.assign(h.e.member, map[string][]int32{"orders": {0}})
	return l.start(h.e.member, h.e.Partition, c.Offset, c.Metadata).tracker
}

// A key that goes on is read again from what was forgotten, in order and without a gap, beside records that come.
func TestAKeyThatGoesOnIsReadAgain(t *testing.T) {
	h := newHot(t)
	h.read(40_000)
	end := h.e.next
	for want := int64(0); want < end; want += 2 {
		if len(h.held) == 0 {
			t.Fatalf("nothing of the key is in hand before record %d", want)
		}
		h.finish(want)
		if want == 10_000 {
			h.read(44_000)
			end = h.e.next
		}
		e, from, ok := h.rereader().lacking()
		for o := from; ok && o < end+100; {
			var rs []*kgo.Record
			for range 500 { // the reading goes on beyond what the member has read
				rs = append(rs, h.record(o))
				o++
			}
			if !h.rereader().readmit(e, rs) {
				break
			}
		}
		h.take(h.l.begin(receiveMost))
	}
	if len(h.held) > 0 || h.e.tracker.First() != end {
		t.Errorf("%d are in hand, and the commit is at %d, want %d", len(h.held), h.e.tracker.First(), end)
	}
	h.l.begin(receiveMost).survey()
	if h.e.lanes.byHash != nil || h.e.open.first != nil {
		t.Errorf("%d lanes are left", len(h.e.lanes.byHash))
	}
}

// A member that finds nothing but records of the key that waits does not read the whole log in vain.
func TestAKeyAloneIsNotReadAhead(t *testing.T) {
	h := newHot(t)
	h.read(20_000)
	var rs []*kgo.Record
	for o := h.e.next; len(rs) < 2*barrenMost; o += 2 {
		rs = append(rs, h.record(o))
	}
	h.e.backlog.Bring(rs)
	h.take(h.l.begin(receiveMost))
	if h.e.lanes.barren != barrenMost || h.e.backlog.Empty() {
		t.Errorf("%d records were forgotten one after another", h.e.lanes.barren)
	}
}

// What a topic's retention deletes while its key waits is not waited for.
func TestWhatWaitsMayBeDeleted(t *testing.T) {
	h := newHot(t)
	h.read(20_000)
	for len(h.held) > 0 {
		h.finish(h.held[0].record.Offset)
	}
	if _, _, ok := h.rereader().lacking(); !ok {
		t.Fatal("nothing is missing")
	}
	if n := h.rereader().startsAt(h.e, h.e.next-1); n != 0 {
		t.Errorf("%d lanes are given up while their records may exist", n)
	}
	if n := h.rereader().startsAt(h.e, h.e.next); n != 1 || h.e.tracker.First() != h.e.next {
		t.Errorf("%d lanes are given up, and the commit is at %d", n, h.e.tracker.First())
	}
}

// Messages without a key have no order on a channel that is not ordered, and no lane.
func TestNoKeyNoLane(t *testing.T) {
	ls := lanes{byHash: map[uint64]*lane{}}
	if ls.of(nil) != nil {
		t.Error("there is one")
	}
	ls.ordered = true
	if ls.of(nil) == nil {
		t.Error("there is none where the channel is ordered")
	}
}
