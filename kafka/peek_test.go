//go:build synctests

package kafka_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

func (l *life) peek(ch driver.Channel, from driver.PeekFrom, most int) (ds []driver.Delivery) {
	l.w.Helper()
	all, err := l.b.Peek(l.w.Context(), ch, from, most)
	if err != nil {
		l.w.Fatal(err)
	}
	for _, one := range all {
		if one.Delivery.Handle != (driver.Handle{}) || one.Delivery.Source != nil || one.Raw.Format != "kafka" {
			l.w.Errorf("looked at %+v", one)
		}
		ds = append(ds, one.Delivery)
	}
	return ds
}

// A look shows what is not finished, beside a member that holds it, and commits nothing.
func TestPeekShowsWhatIsNotFinished(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a=0", "b=1", "c=2", "d=3", "e=4")
		ds := l.get(5)
		w.same(l.peek(orders, driver.PeekFrom{}, 10), "0", "1", "2", "3", "4")
		l.settle(driver.Done, ds[0], ds[2])
		l.settle(driver.Reject, ds[3])
		time.Sleep(5 * time.Second) // until the next commit
		at, metadata := w.committed(0)
		w.same(l.peek(orders, driver.PeekFrom{}, 10), "1", "4")
		w.same(l.peek(orders, driver.PeekFrom{Finished: true}, 4), "0", "1", "2", "3")
		w.same(l.peek(orders, driver.PeekFrom{Last: true}, 1), "4")
		w.same(l.peek(orders, driver.PeekFrom{ID: "orders/0/2"}, 9), "4")
		w.same(l.peek(orders, driver.PeekFrom{ID: "orders/0/2", Finished: true}, 2), "2", "3")
		letter := l.peek(ordersLetters, driver.PeekFrom{}, 10)
		w.same(letter, "3")
		if o := letter[0].Origin; o == nil || o.ID != "orders/0/3" || o.Death.Error != "no" || o.Deaths != 1 {
			t.Errorf("the dead letter's origin is %+v", o)
		}
		if now, after := w.committed(0); now != at || after != metadata {
			t.Errorf("the commit changed from %d to %d", at, now)
		}
		l.end()
		l = w.begin(kafka.Options{}, driver.Events{})
		w.same(l.get(2), "1", "4") // none of them was received by the looks
	})
}

// Several partitions are merged by time, and each keeps its order. Large numbers of records are not all held.
func TestPeekAtPartitions(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 4}}, driver.Events{})
		if got := l.peek(orders, driver.PeekFrom{}, 10); len(got) > 0 {
			t.Errorf("an empty topic has %s", texts(got))
		}
		var middle time.Time
		var want []string
		for i := range 2000 {
			if i == 1500 {
				middle = time.Now()
			}
			r := &kgo.Record{Topic: "orders", Partition: int32(i*i) % 4, Value: fmt.Append(nil, i)}
			if i%2 == 0 { // two thirds of partition 0
				r.Partition = 0
			}
			if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		w.same(l.peek(orders, driver.PeekFrom{}, 5000), want...)
		w.same(l.peek(orders, driver.PeekFrom{}, 100), want[:100]...)
		w.same(l.peek(orders, driver.PeekFrom{Last: true}, 100), want[1900:]...)
		w.same(l.peek(orders, driver.PeekFrom{Last: true}, 1), want[1999])
		w.same(l.peek(orders, driver.PeekFrom{Time: middle}, 100), want[1500:1600]...)
		w.same(l.peek(orders, driver.PeekFrom{Time: middle, Last: true}, 1000), want[1500:]...)
		if got := l.peek(orders, driver.PeekFrom{}, 0); len(got) > 0 {
			t.Errorf("a look at nothing returned %d records", len(got))
		}
	})
}

// The last records are found before a long gap of offsets, and records of aborted transactions are not shown.
func TestPeekOverAGap(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a", "b")
		tx, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
			kgo.TransactionalID("tx"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Close()
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			r := &kgo.Record{Topic: "orders", Value: fmt.Append(nil, i)}
			if err := tx.ProduceSync(w.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		w.same(l.peek(orders, driver.PeekFrom{}, 10), "a", "b") // while it is open
		if err := tx.EndTransaction(w.Context(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		w.same(l.peek(orders, driver.PeekFrom{Last: true}, 3), "a", "b")
		w.same(l.peek(orders, driver.PeekFrom{}, 3), "a", "b")
	})
}

func TestPeekRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, "a")
		for _, id := range []string{"x", "other/0/0", "orders/1/0", "orders/0/1", "orders/0/-1", "orders/0/0/0"} {
			_, err := l.b.Peek(w.Context(), orders, driver.PeekFrom{ID: id}, 1)
			if driver.ClassOf(err) != driver.NotFound || !strings.Contains(fmt.Sprint(err), id) {
				t.Errorf("record %s: %v", id, err)
			}
		}
		if _, err := l.b.Peek(w.Context(), driver.Channel{Exchange: "news"}, driver.PeekFrom{}, 1); err == nil ||
			driver.ClassOf(err) != driver.Permanent {
			t.Errorf("an exchange: %v", err)
		}
	})
}
