//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: while a group waits for a crashed member, no commit succeeds. A member that crashes or stops then leaves
// a whole session's work to be repeated. Here one of two members crashes, a new one joins, and the group waits until
// the crashed member's session ends. The records of the remaining member are committed within a second all the same.
// Its last records are committed when it closes, which does not wait for the group, and the group knows that it has
// left.
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
			w.Errorf("close took %v", took)
		}
		if n := w.members(); n != 2 {
			w.Errorf("%d members after one has closed, want 2", n)
		}
		if at, _ := w.committed(0); at != 3 {
			w.Errorf("committed %d by a member that closed while the group was joined, want 3", at)
		}
		w.send(0, "c")
		w.same(late.get(1), "c")
	})
}

// joining returns a group with three members: the first has the partition, the second has crashed, and the third has
// just joined. The group waits until the session of the second ends.
func (w *world) joining() (l, late *life) {
	w.Helper()
	l = w.begin(kafka.Options{}, driver.Events{})
	w.send(0, "first")
	l.settle(driver.Done, l.get(1)...)
	lost := w.begin(kafka.Options{}, driver.Events{})
	l.nothing(10 * time.Second) // both have joined
	lost.crash()
	l.nothing(5 * time.Second) // the group notices the crash before l does
	late = w.begin(kafka.Options{}, driver.Events{})
	l.nothing(5 * time.Second) // l is told to join again, and does
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

// A stop while the group has not yet answered the first request to join is no failure: the group knows no member that
// could leave.
func TestCloseBeforeTheFirstAnswerToAJoin(t *testing.T) {
	inWorld(t, func(w *world) {
		over := make(chan struct{})
		defer close(over)
		w.cluster.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			w.cluster.SleepControl(func() { <-over })
			return nil, nil, false
		})
		l := w.begin(kafka.Options{}, driver.Events{})
		time.Sleep(time.Second)
		began := time.Now()
		l.end()
		if took := time.Since(began); took > 15*time.Second {
			w.Errorf("it took %v", took)
		}
	})
}
