//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: while a group waits for a member that crashed, nothing is committed, and whoever crashes or stops then
// leaves a whole session's work to be done again. One of two members crashes, a new one joins, and the group waits for
// the dead one's session to end: what the living one settles meanwhile is committed within a second all the same, and
// what it settles last when it closes, which is soon, and known to the group.
func TestCommitsWhileTheGroupIsJoined(t *testing.T) {
	inWorld(t, func(w *world) {
		l, late := w.joining()
		w.send(0, "a", "b")
		ds := l.get(2)
		l.settle(driver.Done, ds[0])
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at != 2 {
			w.Errorf("committed %d while the group is joined, want 2", at)
		}
		l.settle(driver.Done, ds[1])
		if n := w.members(); n != 3 {
			w.Errorf("%d members, want 3", n)
		}
		begun := time.Now()
		l.end()
		if took := time.Since(begun); took > 6*time.Second {
			w.Errorf("to close took %v", took)
		}
		if n := w.members(); n != 2 {
			w.Errorf("%d members when one has closed, want 2", n)
		}
		if at, _ := w.committed(0); at != 3 {
			w.Errorf("committed %d by a member that closed while the group was joined, want 3", at)
		}
		w.send(0, "c")
		w.same(late.get(1), "c")
	})
}

// joining is a group of one member with the partition, one that crashed, and a late one, for whom the group waits with
// the first until the crashed one's session is over.
func (w *world) joining() (l, late *life) {
	w.Helper()
	l = w.begin(kafka.Options{}, driver.Events{})
	w.send(0, "first")
	l.settle(driver.Done, l.get(1)...)
	lost := w.begin(kafka.Options{}, driver.Events{})
	l.nothing(10 * time.Second) // both have joined
	lost.crash()
	l.nothing(5 * time.Second) // the crashed one is missed before l is
	late = w.begin(kafka.Options{}, driver.Events{})
	l.nothing(5 * time.Second) // l has heard of it, and joins
	if state := w.groupOf("orders").State; state != "PreparingRebalance" {
		w.Fatalf("the group is %s", state)
	}
	return l, late
}

func (w *world) members() int { return len(w.groupOf("orders").Members) }

func (w *world) groupOf(name string) kadm.DescribedGroup {
	w.Helper()
	groups, err := w.admin.DescribeGroups(w.Context(), name)
	if err != nil {
		w.Fatal(err)
	}
	return groups[name]
}
