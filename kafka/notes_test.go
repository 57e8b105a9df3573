package kafka

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Notes are taken in the order in which they came, once.
func TestNotesAreTakenInOrder(t *testing.T) {
	var ns notes
	for i := range uint64(5) {
		ns.add(note{handle: driver.Handle{Seq: i}})
	}
	got := ns.take(nil)
	ns.add(note{handle: driver.Handle{Seq: 5}})
	got = append(got, ns.take(nil)...)
	for i := range got {
		if got[i].handle.Seq != uint64(i) {
			t.Errorf("note %d is of %d", i, got[i].handle.Seq)
		}
	}
	if len(got) != 6 || len(ns.take(nil)) != 0 {
		t.Errorf("%d notes, want 6, once", len(got))
	}
}

// A poll that waits is ended once, by as many notes as could change anything, those before it included.
func TestNotesEndAWaitOnce(t *testing.T) {
	var ns notes
	if ns.add(note{}) {
		t.Error("nobody waits")
	}
	if ns.await(3) {
		t.Error("there is one, and three are missing")
	}
	if ns.add(note{}) || !ns.add(note{}) || ns.add(note{}) {
		t.Error("the third note ends the wait, and no other")
	}
	if !ns.await(4) || ns.add(note{}) {
		t.Error("there are as many already: the poll must not wait")
	}
	if ns.await(0) || ns.add(note{}) {
		t.Error("nothing waits for notes")
	}
}

// Who wakes ends the wait under way, or the next one.
func TestWakeupEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w wakeup
		ctx, cancel := w.begin(t.Context(), time.Minute)
		admitted := false
		begun := time.Now()
		go func() {
			time.Sleep(time.Second)
			w.await()
			if !admitted {
				t.Error("what the poll brought is not admitted")
			}
		}()
		<-ctx.Done()
		time.Sleep(time.Second)
		admitted = true
		w.done()
		cancel()
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if ctx, _ := w.begin(t.Context(), time.Minute); ctx != nil {
			t.Error("somebody woke before the wait began, and it waits") // await did
		}
		w.done()
		w.await() // nothing is under way
		if ctx, _ := w.begin(t.Context(), time.Minute); ctx != nil {
			t.Error("it waits")
		}
		w.done()
		ctx, cancel = w.begin(t.Context(), time.Minute)
		if ctx == nil {
			t.Fatal("nobody woke, and it does not wait")
		}
		cancel()
		w.done()
		if ctx, _ := w.begin(t.Context(), 0); ctx != nil {
			t.Error("it waits for no time")
		}
		w.done()
		synctest.Wait()
	})
}

// The core tells of its deliveries under a lock of its own: it is never kept waiting by a round of admission, also
// where what it tells ends the wait of a poll.
func TestTellingTakesNoLockOfARound(t *testing.T) {
	l, e := newTestLedger(t, Options{})
	r := &receiver{sub: l.sub, ledger: l}
	m := l.at(t, e, delivered)
	h := driver.Handle{Ref: m, Seq: m.use}
	waiting, cancel := l.wakeup.begin(t.Context(), time.Hour)
	defer cancel()
	l.notes.await(2)
	l.mu.Lock()
	r.Started(h, 2)
	if waiting.Err() != nil {
		t.Error("the first note ends a wait for two")
	}
	r.Finish(h)
	if waiting.Err() == nil {
		t.Error("the second note does not")
	}
	if m.stage != delivered {
		t.Error("the message was settled by who only tells")
	}
	l.read()
	l.mu.Unlock()
	if e.tracker.Unfinished() != 0 {
		t.Error("what was told was not taken in")
	}
}
