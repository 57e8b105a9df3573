package parking

import (
	"slices"
	"testing"
	"time"
)

// The spots of a lot are in the order of the log, one for each offset.
func TestSpotsAreInOrder(t *testing.T) {
	var l lot[string]
	for _, s := range []spot[string]{{offset: 5, m: "five"}, {offset: 2, m: "two"}, {offset: 9, m: "nine"}} {
		l.put(s.offset, s.m)
	}
	l.put(5, "again")
	var got []string
	for _, s := range l.spots {
		got = append(got, s.m)
	}
	if !slices.Equal(got, []string{"two", "again", "nine"}) {
		t.Errorf("the spots are %q", got)
	}
	if i, found := l.find(6); found || i != 2 {
		t.Errorf("offset 6 would be spot %d, found %v", i, found)
	}
}

// The due time of a lot is the latest one.
func TestTheDueTimeOfALot(t *testing.T) {
	var l lot[string]
	late := time.Unix(2_000, 0)
	l.until(late)
	l.until(late.Add(-time.Hour))
	if !l.due.Equal(late) {
		t.Errorf("the lot is due at %v, want %v", l.due, late)
	}
}

// first returns the message of the first spot only if it is due and waits to be the first.
func TestTheFirstMessage(t *testing.T) {
	var l lot[string]
	if _, ok := l.first(); ok {
		t.Error("an empty lot has a first message")
	}
	l.spots = []spot[string]{{offset: 1, m: "one"}, {offset: 2, m: "two", blocked: true}}
	if m, ok := l.first(); ok {
		t.Errorf("%s is free although it is not due", m)
	}
	l.spots[0].blocked = true
	if m, ok := l.first(); !ok || m != "one" {
		t.Errorf("the first message is %q, %v", m, ok)
	}
}
