package records

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// When a key continues, its forgotten records are read again, in order and without a gap, while new records arrive.
func TestAKeyThatGoesOnIsReadAgain(t *testing.T) {
	h := newHot(t)
	h.read(40_000)
	end := h.e.next
	for want := int64(0); want < end; want += 2 {
		if len(h.held) == 0 {
			t.Fatalf("no message of the key is delivered before record %d", want)
		}
		h.finish(want)
		if want == 10_000 {
			h.read(44_000)
			end = h.e.next
		}
		e, from, ok := h.l.Rereads.Lacking()
		for o := from; ok && o < end+100; {
			var rs []*kgo.Record
			for range 500 { // reads beyond the member's own position
				rs = append(rs, h.record(o))
				o++
			}
			if !h.l.Rereads.Readmit(e, rs) {
				break
			}
		}
		h.take(h.l.begin(roundMost))
	}
	if len(h.held) > 0 || h.e.tracker.First() != end {
		t.Errorf("%d messages are delivered, and the commit is at %d, want %d", len(h.held), h.e.tracker.First(), end)
	}
	h.l.begin(roundMost).survey()
	if h.e.lanes.byHash != nil || h.e.open.first != nil {
		t.Errorf("%d lanes are left", len(h.e.lanes.byHash))
	}
}

// If a topic's retention deletes records of a waiting key, the lane does not wait for them.
func TestWhatWaitsMayBeDeleted(t *testing.T) {
	h := newHot(t)
	h.read(20_000)
	for len(h.held) > 0 {
		h.finish(h.held[0].Record.Offset)
	}
	if _, _, ok := h.l.Rereads.Lacking(); !ok {
		t.Fatal("no record is forgotten")
	}
	if n := h.l.Rereads.StartsAt(h.e, h.e.next-1); n != 0 {
		t.Errorf("%d lanes lose records that may still exist", n)
	}
	if n := h.l.Rereads.StartsAt(h.e, h.e.next); n != 1 || h.e.tracker.First() != h.e.next {
		t.Errorf("%d lanes lose records, and the commit is at %d", n, h.e.tracker.First())
	}
}
