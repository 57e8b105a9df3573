//go:build synctests

package kafka_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

var sharing = kafka.Options{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare, Partitions: 2}

// A broker archives a record after five deliveries, even if they were released. Several deployments in a row, each of
// which releases its records, lose none.
func TestDeploysInARowLoseNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		for i := range 6 {
			w.send(int32(i%2), "k="+strconv.Itoa(i))
		}
		for range 9 {
			l.settle(driver.Release, l.within(6, 3*time.Second)...)
			l.end()
			l = w.begin(sharing, driver.Events{})
		}
		seen := map[string]bool{}
		for ends := time.Now().Add(2 * time.Minute); len(seen) < 6 && time.Now().Before(ends); {
			ds := l.within(1, 5*time.Second)
			for _, d := range ds {
				seen[string(d.Body)] = true
			}
			l.settle(driver.Done, ds...)
		}
		if len(seen) != 6 {
			w.Errorf("%d of 6 records were handled after nine deploys", len(seen))
		}
		l.end()
	})
}

// After a crash, a record is delivered again when its lock ends: from a tier, with its own number of attempts.
func TestSharedRecordComesBackAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=a")
		d := l.get(1)[0]
		if d.Received != 1 || d.Tenant != "k" || d.OrderKey != "" || d.LeaseEnds.Before(time.Now()) {
			w.Errorf("the record was delivered as %+v", d)
		}
		l.crash()
		l = w.begin(sharing, driver.Events{})
		ds := l.get(1)
		w.same(ds, "a")
		if ds[0].ID != d.ID || ds[0].Received > 1 {
			w.Errorf("%s was delivered as %+v", d.ID, ds[0])
		}
		l.settle(driver.Done, ds...)
		l.nothing(time.Minute)
	})
}

// A renewed lock holds: a record is not delivered again while its handler runs.
func TestSharedRecordIsRenewed(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=a")
		d := l.get(1)[0]
		for range 8 {
			time.Sleep(15 * time.Second)
			if _, err := l.recv.(driver.Extender).Extend(w.Context(), []driver.Handle{d.Handle},
				30*time.Second); err != nil {
				w.Fatal(err)
			}
		}
		w.send(1, "k=b")
		if depth, err := l.b.Inspect(w.Context(), orders); err != nil || depth.Waiting != 2 {
			w.Errorf("depth %+v, %v, want 2 waiting or in flight", depth, err)
		}
		l.settle(driver.Done, d)
		l.settle(driver.Done, l.get(1)...)
		l.nothing(time.Minute)
		if depth, err := l.b.Inspect(w.Context(), orders); err != nil || depth.Waiting != 0 {
			w.Errorf("depth %+v, %v, want no waiting record", depth, err)
		}
	})
}

// Retries wait in the tiers, a dead letter is stored before its record is accepted, and neither raises the share
// group's delivery count.
func TestSharedRecordRetriedAndRejected(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=a")
		begun := time.Now()
		first := l.get(1)
		l.settle(driver.Retry, first...)
		again := l.get(1)
		if took := time.Since(begun); took < 5*time.Second || again[0].ID != first[0].ID || again[0].Attempt != 1 {
			w.Errorf("%s came after %v with %d starts, was %s", again[0].ID, took, again[0].Attempt, first[0].ID)
		}
		l.settle(driver.Reject, again...)
		l.nothing(time.Minute)
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters, want 1", n)
		}
		l.end()
	})
}

// The mistake: a crash between the dead letter and the acknowledgement makes a second dead letter. Here the record is
// delivered again and found among the dead letters; another record that was in flight is handled.
func TestSharedRecordDiesOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		var l *life
		o := sharing
		o.Client = []kgo.Opt{kgo.WithHooks(sent(func(r *kgo.Record) {
			if r.Topic == ordersDead {
				l.crash()
			}
		}))}
		l = w.begin(o, driver.Events{})
		w.send(0, "k=a", "k=b")
		w.send(1, "k=c")
		ds := l.get(3)
		_ = l.recv.Settle(w.Context(), []driver.Settlement{{
			Handle: ds[slices.Index(texts(ds), "a")].Handle,
			Action: driver.Reject, Death: &driver.Death{Error: "no"},
		}})
		if n := w.count(ordersDead); n != 1 {
			w.Fatalf("%d dead letters, want 1", n)
		}
		l = w.begin(sharing, driver.Events{})
		again := l.get(2)
		if got := texts(again); !slices.Contains(got, "b") || !slices.Contains(got, "c") {
			w.Errorf("after the crash %v were delivered, want b and c", got)
		}
		l.settle(driver.Done, again...)
		for _, d := range l.within(1, 2*time.Minute) {
			w.Errorf("%s was delivered too, for the %dth time", d.Body, d.Received)
			l.settle(driver.Reject, d)
		}
		if n := w.count(ordersDead); n != 1 {
			w.Errorf("%d dead letters, want 1", n)
		}
	})
}

// sent is called for every record that a client has sent, before the client reports that to its caller.
type sent func(*kgo.Record)

func (s sent) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err == nil {
		s(r)
	}
}

// Order and share groups exclude each other, and the constructor reports it.
func TestSharedAndOrdered(t *testing.T) {
	b, err := kafka.Open(t.Context(), &kafka.Options{GroupProtocol: kafka.GroupShare})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Receiver(t.Context(), orders, driver.ReceiverOptions{}); err == nil ||
		!strings.Contains(err.Error(), "OrderNone") {
		t.Errorf("receiver: %v, want an error that says what to do", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
