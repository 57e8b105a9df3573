//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

const ordersDead = "orders.orders.dlq"

// A record has a dead letter, but the process died before the record's offset was committed. When the record is
// delivered again, it is finished without a handler, and gets no second dead letter.
func TestDeadLetterTwiceAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}
		l := w.begin(o, driver.Events{})
		w.send(0, "first")
		l.settle(driver.Done, l.get(1)...)
		time.Sleep(1100 * time.Millisecond) // the group's first commit
		w.send(0, "a", "bad", "c")
		ds := l.get(3)
		w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.CoordinatorNotAvailable, Count: -1,
			Group: "orders",
		})
		l.settle(driver.Reject, ds[1])
		l.crash()
		if n := w.count(ordersDead); n != 1 {
			w.Fatalf("%d dead letters, want 1", n)
		}
		w.send(1, "x", "y", "same offset, other partition")
		l = w.begin(o, driver.Events{})
		again := texts(l.get(5))
		slices.Sort(again)
		if want := []string{"a", "c", "same offset, other partition", "x", "y"}; !slices.Equal(again, want) {
			w.Errorf("received %q, want %q", again, want)
		}
		l.nothing(2 * time.Second)
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters after the restart, want 1", n)
		}
	})
}

// The first dead letter of a group is known after a crash, even if no periodic commit came in between: the mark is
// committed before the dead letter is published.
func TestTheFirstDeadLetterOfAGroup(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a", "bad", "c")
		ds := l.get(3)
		l.settle(driver.Reject, ds[1])
		l.crash()
		l = w.begin(kafka.Options{}, driver.Events{})
		w.same(l.get(2), "a", "c")
		l.nothing(2 * time.Second)
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters after the restart, want 1", n)
		}
		l.end()
	})
}

// A record that was rejected out of a tier is finished in the tier as well. Another record of the tier, with the same
// offset as the rejected record's original, is delivered.
func TestDeadLetterOfATierAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}}
		l := w.begin(o, driver.Events{})
		w.send(0, "a", "b", "bad")
		ds := l.get(3)
		// "bad" has offset 2 in the topic and 0 in the tier, where "b" has 2
		l.settle(driver.Retry, ds[2], ds[0], ds[1])
		back := l.get(3)
		if string(back[0].Body) != "bad" {
			w.Fatalf("received %s", texts(back))
		}
		time.Sleep(2 * time.Second)
		w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.CoordinatorNotAvailable, Count: -1,
			Group: "orders",
		})
		l.settle(driver.Reject, back[0])
		l.crash()
		l = w.begin(o, driver.Events{})
		again := texts(l.get(2))
		slices.Sort(again)
		if !slices.Equal(again, []string{"a", "b"}) {
			w.Errorf("received %q, want a and b", again)
		}
		l.nothing(2 * time.Second)
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters, want 1", n)
		}
	})
}

// Each partition, and each topic that was created again, has its own offsets: the dead letter of a record does not
// apply to another record with the same offset.
func TestDeadLetterDedupByBareOffset(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}
		l := w.begin(o, driver.Events{})
		w.send(0, "bad")
		l.settle(driver.Reject, l.get(1)...)
		l.end()
		w.drop("orders")
		if _, err := w.admin.DeleteGroup(w.Context(), "orders"); err != nil {
			w.Fatal(err)
		}
		l = w.begin(o, driver.Events{})
		w.send(0, "other topic, same offset")
		w.send(1, "other partition, same offset")
		if n := len(l.get(2)); n != 2 {
			w.Errorf("received %d of 2", n)
		}
		l.end()
	})
}

// A record stays unfinished if its dead letter cannot be published.
func TestRejectWithoutDeadLetterIsNotFinished(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "bad")
		d := l.get(1)[0]
		w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: ordersDead,
			Err: kerr.TopicAuthorizationFailed,
		})
		reject := []driver.Settlement{{Handle: d.Handle, Action: driver.Reject, Death: &driver.Death{Error: "no"}}}
		err := l.recv.Settle(w.Context(), reject)
		var entries *driver.BatchError
		if !errors.As(err, &entries) || driver.ClassOf(entries.Errs[0]) != driver.Denied {
			w.Errorf("the answer is %v, want entry 0 denied", err)
		}
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at > 0 {
			w.Errorf("committed %d past a record that is neither handled nor in the dead letters", at)
		}
		if err := l.recv.Settle(w.Context(), reject); err != nil {
			w.Error(err)
		}
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at != 1 {
			w.Errorf("committed %d after the dead letter was stored, want 1", at)
		}
	})
}

// Dead letters in memory end with the process, so no commit passes their records.
func TestDeadLettersInMemoryFollowedByACommit(t *testing.T) {
	inWorld(t, func(w *world) {
		q := &kafka.MemoryDeadLetters{}
		o := kafka.Options{DeadLetterQueue: q}
		l := w.begin(o, driver.Events{})
		w.send(0, "bad", "b")
		ds := l.get(2)
		l.settle(driver.Reject, ds[0])
		l.settle(driver.Done, ds[1])
		if all := q.All(); len(all) != 1 || string(all[0].Record.Value) != "bad" || all[0].Death.Error != "no" ||
			all[0].Group != "orders" {
			w.Errorf("the queue has %+v", all)
		}
		l.end()
		l = w.begin(o, driver.Events{})
		w.same(l.get(1), "bad")
	})
}

// A deleted topic of dead letters is created again, so that rejected records are not lost.
func TestDeadLetterTopicDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "bad")
		d := l.get(1)
		w.drop(ordersDead)
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if err := l.recv.Settle(ctx, []driver.Settlement{{
			Handle: d[0].Handle, Action: driver.Reject,
			Death: &driver.Death{},
		}}); err != nil {
			w.Fatal(err)
		}
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters, want 1", n)
		}
	})
}
