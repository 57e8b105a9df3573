package share

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// given returns locks with one run of records, from offset 0 on, whose handlers are fast.
func given(n int) (*locks, *run) {
	b := &locks{budget: newBudget(4), runs: map[int32][]*run{}}
	b.budget.fast.Store(true)
	u := &run{locks: make([]lock, n), open: n}
	for i := range u.locks {
		u.locks[i] = lock{run: u, record: &kgo.Record{Offset: int64(i)}, count: 1}
	}
	b.enter(u, &fetched{}, nil)
	return b, u
}

// The acceptances of a run wait for one another, unless there is only one partition. What fails the handler waits for
// none.
func TestFinishedRecordsWaitForTheirRun(t *testing.T) {
	for _, several := range []bool{true, false} {
		b, u := given(3)
		for i := range u.locks {
			freed, waits := b.finish(&u.locks[i], several)
			if freed != 1 || waits != (several && i == 1) {
				t.Errorf("several %v, record %d: freed %d, waits %v", several, i, freed, waits)
			}
			if again, _ := b.finish(&u.locks[i], several); again != 0 {
				t.Errorf("record %d was finished twice", i)
			}
			b.join(time.Now())
			if n := len(b.pending); several && (n == 3) != (i == 2) || !several && n != i+1 {
				t.Errorf("several %v, record %d: %d pending", several, i, n)
			}
		}
	}
	b, u := given(2)
	b.finish(&u.locks[0], true)
	if b.join(time.Now().Add(runLinger)); len(b.take()) != 1 || len(b.partial) != 0 {
		t.Errorf("a run waits longer than %v", runLinger)
	}
}

// If the broker refuses acks because of one of them, halves are sent again, until only that one is refused. It is lost;
// nobody waits for its answer.
func TestOneWrongAckAmongMany(t *testing.T) {
	b, u := given(5)

	for i := range u.locks {
		b.finish(&u.locks[i], false)
	}
	requests := 0
	for as := b.take(); as != nil; as = b.suspect() {
		var err error
		for _, a := range as {
			if a.first == 3 {
				err = kerr.InvalidRecordState
			}
		}
		b.digest(as, err, time.Time{})
		requests++
	}
	if lost := b.takeLost(); lost.n != 1 || len(b.runs) != 0 || requests != 7 {
		t.Errorf("%d lost, %d runs left, %d requests; want 1, 0, 7", lost.n, len(b.runs), requests)
	}
}

// After an error that passes, an ack without a caller is sent again, and the verdict of a caller can be repeated.
func TestAcksThatAreSentAgain(t *testing.T) {
	b, u := given(2)
	b.finish(&u.locks[0], false)
	b.digest(b.take(), kerr.RequestTimedOut, time.Time{})
	if len(b.pending) != 1 || u.locks[0].stage != settled {
		t.Errorf("%d pending, stage %d; want 1 and settled", len(b.pending), u.locks[0].stage)
	}
	c := newCall()
	b.take()
	b.claim(&u.locks[1])
	b.add([]ack{ackOf(&u.locks[1], release, c, 0)})
	b.digest(b.take(), kerr.RequestTimedOut, time.Time{})
	if u.locks[1].stage != held || !b.claim(&u.locks[1]) {
		t.Errorf("the stage is %d, and the verdict cannot be repeated", u.locks[1].stage)
	}
}

// Locks end with their time, with a new delivery of the same offsets, and with the session. Those without a verdict
// free a place each.
func TestLocksThatEnd(t *testing.T) {
	now := time.Now()
	for name, end := range map[string]func(b *locks) int{
		"time":         func(b *locks) int { return b.sweep(now.Add(lockGrace + 1)) },
		"new delivery": func(b *locks) int { return b.replaced(0, 0, 3) },
		"session":      func(b *locks) int { return b.clear(nil, errReset) },
		"new leader":   func(b *locks) int { return b.dropAll(0) },
	} {
		b, u := given(4)
		for i := range u.locks {
			u.locks[i].ends = now
		}
		b.claim(&u.locks[1])
		if freed := end(b); freed != 3 || b.claim(&u.locks[0]) {
			t.Errorf("%s: %d freed, the first can be claimed or not: %d", name, freed, u.locks[0].stage)
		}
	}
}
