//go:build synctests

package kafka_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

var sharing = kafka.Options{
	ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare, Partitions: 2},
}

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

// Records are fetched, and their verdicts reported, while one of them is still handled. That one is not accepted or
// renewed because of it: after a crash of the process, it is delivered again.
func TestSharedRecordsPassAStraggler(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=straggler")
		straggler := l.get(1)[0]
		for i := range 20 {
			w.send(int32(i%2), "k="+strconv.Itoa(i))
			ds := l.get(1)
			w.same(ds, strconv.Itoa(i))
			l.recv.(driver.Finisher).Finish(ds[0].Handle)
		}
		time.Sleep(time.Second) // the last one is reported
		l.crash()
		l = w.begin(sharing, driver.Events{})
		again := l.get(1)
		if again[0].ID != straggler.ID {
			w.Errorf("after the crash %s was delivered, want the straggler", again[0].Body)
		}
		l.settle(driver.Done, again...)
		l.nothing(time.Minute)
	})
}

// The mistake: a broker refuses all acknowledgements of a request for a partition because one lock has ended, and the
// other records are delivered again, too.
func TestOneLostLockLosesNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		soon := "100"
		if _, err := w.admin.AlterBrokerConfigs(w.Context(), []kadm.AlterConfig{
			{Op: kadm.SetConfig, Name: "share.record.lock.sweep.interval.ms", Value: &soon},
		}); err != nil {
			w.Fatal(err)
		}
		l := w.begin(sharing, driver.Events{})
		for i := range 7 {
			w.send(0, "k="+strconv.Itoa(i))
		}
		ds := l.get(7)
		time.Sleep(15 * time.Second)
		var renewed []driver.Handle
		for i, d := range ds {
			if i != 3 {
				renewed = append(renewed, d.Handle)
			}
		}
		if _, err := l.recv.(driver.Extender).Extend(w.Context(), renewed, 30*time.Second); err != nil {
			w.Fatal(err)
		}
		time.Sleep(15*time.Second + 900*time.Millisecond) // the broker has noticed, and the member has not
		ss := make([]driver.Settlement, len(ds))
		for i := range ds {
			ss[i] = driver.Settlement{Handle: ds[i].Handle, Action: driver.Done}
		}
		var failed *driver.BatchError
		if err := l.recv.Settle(w.Context(), ss); !errors.As(err, &failed) || len(failed.Errs) != 1 ||
			!errors.Is(failed.Errs[3], driver.ErrLost) {
			w.Errorf("settle: %v, want that the fourth one is lost, and no other", err)
		}
		again := l.get(1)
		if again[0].ID != ds[3].ID {
			w.Errorf("%s was delivered again, want %s", again[0].ID, ds[3].ID)
		}
		l.settle(driver.Done, again...)
		l.nothing(time.Minute)
	})
}

// A session that the broker has forgotten begins again. Finished records that it had not accepted are delivered again,
// and the next Receive says so.
func TestASessionThatWasForgotten(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=a")
		d := l.get(1)[0]
		forgotten := false
		forget := func(req kmsg.Request) (kmsg.Response, error, bool) {
			if forgotten {
				return nil, nil, false
			}
			forgotten = true
			resp := req.ResponseKind()
			switch r := resp.(type) {
			case *kmsg.ShareFetchResponse:
				r.ErrorCode = kerr.ShareSessionNotFound.Code
			case *kmsg.ShareAcknowledgeResponse:
				r.ErrorCode = kerr.ShareSessionNotFound.Code
			}
			return resp, nil, true
		}
		w.cluster.ControlKey(int16(kmsg.ShareFetch), forget)
		w.cluster.ControlKey(int16(kmsg.ShareAcknowledge), forget)
		l.recv.(driver.Finisher).Finish(d.Handle)
		time.Sleep(time.Second)
		_, err := l.recv.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		if err == nil || !driver.ClassOf(err).Passing() ||
			!strings.Contains(err.Error(), "1 finished records") {
			w.Errorf("receive: %v, want that a finished record is delivered again", err)
		}
		w.send(1, "k=b")
		for _, want := range []string{"b", "a"} { // a when its lock has ended
			ds := l.get(1)
			w.same(ds, want)
			l.settle(driver.Done, ds...)
		}
		l.nothing(time.Minute)
		l.end()
	})
}

// A topic that was deleted is an error of each Receive, and one that was created again is used.
func TestSharedTopicIsCreatedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(sharing, driver.Events{})
		w.send(0, "k=a")
		l.settle(driver.Done, l.get(1)...)
		if _, err := w.admin.DeleteTopics(w.Context(), "orders"); err != nil {
			w.Fatal(err)
		}
		var err error
		for ends := time.Now().Add(time.Minute); err == nil && time.Now().Before(ends); {
			_, err = l.recv.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		}
		if driver.ClassOf(err) != driver.NotFound {
			w.Errorf("receive from a deleted topic: %v, want an error of class NotFound", err)
		}
		if _, err := w.admin.CreateTopic(w.Context(), 2, 1, nil, "orders"); err != nil {
			w.Fatal(err)
		}
		w.client.PurgeTopicsFromClient("orders") // the producer, too, knows the old one
		w.send(1, "k=b")
		ds := l.get(1)
		w.same(ds, "b")
		l.settle(driver.Done, ds...)
		l.nothing(time.Minute)
	})
}

// Partitions of several brokers are fetched at once, and one that gets another leader is fetched there.
func TestSharedPartitionsMove(t *testing.T) {
	inWorldOf(t, 3, func(w *world) {
		o := sharing
		o.Partitions = 6
		l := w.begin(o, driver.Events{})
		for round := range int32(4) {
			for n := range int32(6) {
				w.send(n, "k="+strconv.Itoa(int(round*6+n)))
			}
			ds := l.get(6)
			if round == 1 {
				l.settle(driver.Done, ds...)
			} else {
				for _, d := range ds {
					l.recv.(driver.Finisher).Finish(d.Handle)
				}
			}
			time.Sleep(2 * time.Second) // for the reports
			for n := range int32(6) {
				if err := w.cluster.MoveTopicPartition("orders", n, (n+round+1)%3); err != nil {
					w.Fatal(err)
				}
			}
		}
		l.nothing(time.Minute)
		l.end()
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
	b, err := kafka.Open(t.Context(), &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupShare},
	})
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
