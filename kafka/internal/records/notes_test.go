package records

import (
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// take returns each note once, in the order of add.
func TestNotesAreTakenInOrder(t *testing.T) {
	var ns notes
	for i := range uint64(5) {
		ns.add(note{handle: driver.Handle{Seq: i}})
	}
	got := slices.Clone(ns.take())
	ns.add(note{handle: driver.Handle{Seq: 5}})
	got = append(got, ns.take()...)
	for i := range got {
		if got[i].handle.Seq != uint64(i) {
			t.Errorf("note %d is of %d", i, got[i].handle.Seq)
		}
	}
	if len(got) != 6 || len(ns.take()) != 0 {
		t.Errorf("%d notes, want each of the 6 once", len(got))
	}
}

// A waiting poll ends once, when there are enough notes, with those from before its wait.
func TestNotesEndAWaitOnce(t *testing.T) {
	var ns notes
	if ns.add(note{}) {
		t.Error("a note ends a wait, and no poll waits")
	}
	if ns.await(3) {
		t.Error("one note is enough for a wait that ends with three")
	}
	if ns.add(note{}) || !ns.add(note{}) || ns.add(note{}) {
		t.Error("only the third note should end the wait")
	}
	if !ns.await(4) || ns.add(note{}) {
		t.Error("there are enough notes already, and the poll waits")
	}
	if ns.await(0) || ns.add(note{}) {
		t.Error("a note ends a wait that ends with none")
	}
}

// The core reports under a lock of its own. It never waits for a round of admission, even if its report ends the wait
// of a poll.
func TestTellingTakesNoLockOfARound(t *testing.T) {
	l, e := newTestLedger(t)
	m := l.at(t, e, delivered)
	h := driver.Handle{Ref: m, Seq: m.Use}
	waiting, cancel := l.Wakeup.Begin(t.Context(), time.Hour)
	defer cancel()
	l.notes.await(2)
	l.mu.Lock()
	l.Started(h, 2)
	if waiting.Err() != nil {
		t.Error("the first note ends a wait that ends with two")
	}
	l.Done(h)
	if waiting.Err() == nil {
		t.Error("the second note does not end the wait")
	}
	if m.stage != delivered {
		t.Error("the message was settled without the ledger's lock")
	}
	l.read()
	l.mu.Unlock()
	if e.tracker.Unfinished() != 0 {
		t.Error("the ledger has not read the notes")
	}
}
