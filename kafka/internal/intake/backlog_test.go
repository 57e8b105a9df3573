package intake

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recordsOf returns n records with bodies of a size.
func recordsOf(n, size int) (rs []*kgo.Record) {
	for i := range n {
		rs = append(rs, &kgo.Record{Offset: int64(i), Value: make([]byte, size)})
	}
	return rs
}

// Records are admitted in order, until one is refused. That one is the next, and its bytes still count.
func TestABacklogIsAdmittedInOrder(t *testing.T) {
	var b Backlog[string]
	b.Bring(recordsOf(2, 10))
	b.Bring(recordsOf(3, 10)[2:])
	var got []int64
	refuse := int64(2)
	admit := func(_ string, r *kgo.Record) bool {
		if r.Offset == refuse {
			return false
		}
		got = append(got, r.Offset)
		return true
	}
	if more, stuck := b.admit(1, admit); !more || stuck {
		t.Errorf("one of three admitted: more %v, stuck %v", more, stuck)
	}
	if more, stuck := b.admit(5, admit); more || !stuck || b.bytes != 10 || len(b.records) != 1 {
		t.Errorf("the last refused: more %v, stuck %v, %d bytes, %d records", more, stuck, b.bytes, len(b.records))
	}
	refuse = -1
	if more, stuck := b.admit(1, admit); more || stuck || !b.Empty() || b.bytes != 0 {
		t.Errorf("all admitted: more %v, stuck %v, %d bytes, empty %v", more, stuck, b.bytes, b.Empty())
	}
	if len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 2 {
		t.Errorf("admitted %v", got)
	}
}

// A backlog is overdue by its records or by its bytes, and not after Drop.
func TestALongBacklogIsOverdue(t *testing.T) {
	for name, rs := range map[string][]*kgo.Record{
		"records": recordsOf(backlogMost, 0), "bytes": recordsOf(16, backlogBytes/16),
	} {
		var b Backlog[string]
		if b.Bring(rs[1:]); b.overdue() {
			t.Errorf("%s: overdue one record before the bound", name)
		}
		if b.Bring(rs[:1]); !b.overdue() {
			t.Errorf("%s: not overdue at the bound", name)
		}
		if b.Drop(); b.overdue() || !b.Empty() {
			t.Errorf("%s: overdue after Drop", name)
		}
	}
}
