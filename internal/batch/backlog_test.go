package batch

import (
	"fmt"
	"strings"
	"testing"
)

// A batch takes one entry of each key, or, with Together, all of them that fit, in their order. The rest of a key
// waits until these have ended.
func TestWhatABatchTakesOfEachKey(t *testing.T) {
	for _, c := range []struct {
		together bool
		limit    int
		batches  string
	}{
		{limit: 4, batches: "a1 b1 c1|a2 b2|a3"},
		{limit: 2, batches: "a1 b1|c1 a2|b2 a3"},
		{together: true, limit: 4, batches: "a1 a2 a3 b1|c1 b2"},
		{together: true, limit: 2, batches: "a1 a2|b1 b2|c1 a3"},
	} {
		o := Options[string]{
			Key: func(v string) string { return v[:1] }, Limit: c.limit, Together: c.together,
			Size: func(v string) int { return len(v) },
		}
		b := backlog[string]{o: &o, lines: map[string]line[string]{}}
		for v := range strings.FieldsSeq("a1 b1 c1 a2 a3 b2") {
			b.enqueue(entry[string]{v: v})
		}
		var batches []string
		for b.ready() > 0 {
			var p buffer[string]
			b.take(&p)
			var vs []string
			for _, e := range p.entries {
				vs = append(vs, e.v)
			}
			for _, e := range p.entries {
				b.ended(e.v)
			}
			batches = append(batches, strings.Join(vs, " "))
		}
		if got := strings.Join(batches, "|"); got != c.batches || b.bytes != 0 || b.hurried() || len(b.lines) != 0 {
			t.Errorf("together %v, %d at most: %s, want %s; %d bytes, %d keys left", c.together, c.limit, got, c.batches,
				b.bytes, len(b.lines))
		}
	}
}

// Entries that are put back are sent before the others, and their keys stay busy meanwhile.
func TestEntriesThatArePutBack(t *testing.T) {
	o := Options[string]{
		Key: func(v string) string { return v[:1] }, Limit: 2, Urgent: func(v string) bool { return v == "c1" },
	}
	b := backlog[string]{o: &o, lines: map[string]line[string]{}}
	for v := range strings.FieldsSeq("a1 b1 a2 c1") {
		b.enqueue(entry[string]{v: v})
	}
	var p buffer[string]
	b.take(&p)
	b.putBack(p.entries)
	if first := b.queue.at(0).v; first != "a1" || b.queue.len() != 3 || b.urgent != 1 {
		t.Errorf("%s is first of %d, %d urgent; want a1, 3, 1", first, b.queue.len(), b.urgent)
	}
}

// Entries without a key do not wait for others, and others do not wait for them.
func TestEntriesWithoutAKey(t *testing.T) {
	o := Options[string]{
		Key: func(v string) string { return v[:1] }, Keyed: func(v string) bool { return v[0] != '-' }, Limit: 10,
	}
	b := backlog[string]{o: &o, lines: map[string]line[string]{}}
	for _, v := range []string{"a1", "-1", "a2", "-2"} {
		b.enqueue(entry[string]{v: v})
	}
	var first buffer[string]
	b.take(&first)
	if got := fmt.Sprint(values(first.entries)); got != "[a1 -1 -2]" {
		t.Errorf("the first batch is %s", got)
	}
	for _, e := range first.entries {
		b.ended(e.v)
	}
	var second buffer[string]
	b.take(&second)
	if got := fmt.Sprint(values(second.entries)); got != "[a2]" || len(b.lines) != 1 {
		t.Errorf("the second batch is %s, beside %d keys", got, len(b.lines))
	}
	if b.ended("a2"); len(b.lines) != 0 {
		t.Errorf("%d keys are left", len(b.lines))
	}
}

func values(es []entry[string]) (vs []string) {
	for _, e := range es {
		vs = append(vs, e.v)
	}
	return vs
}
