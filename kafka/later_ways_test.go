//go:build synctests

package kafka_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// Producers wake messages of channels without a consumer, if they are told to. They have no dead letters, so a message
// that its channel refuses goes on waiting, and is sent on when the channel takes it.
func TestLaterWokenByProducers(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		t.Run(fmt.Sprint(wakes), func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(kafka.Options{WakeFromProducers: wakes}, driver.Events{})
				if err := l.recv.Close(w.Context()); err != nil {
					t.Fatal(err)
				}
				s, err := l.b.Sender(w.Context(), orders)
				if err != nil {
					t.Fatal(err)
				}
				l.put(orders,
					driver.Message{Body: []byte("small"), OrderKey: "k", Delay: time.Minute},
					driver.Message{Body: []byte(strings.Repeat("x", 5000)), OrderKey: "k", Delay: time.Minute},
					driver.Message{Body: []byte("behind"), OrderKey: "k", Delay: time.Minute},
				)
				limit := func(bytes string) {
					t.Helper()
					if _, err := w.admin.AlterTopicConfigs(w.Context(), []kadm.AlterConfig{{
						Op: kadm.SetConfig, Name: "max.message.bytes", Value: &bytes,
					}}, "orders"); err != nil {
						t.Fatal(err)
					}
				}
				limit("1000")
				time.Sleep(50 * time.Second)
				if got := w.committedBodies("orders"); len(got) != 0 {
					t.Errorf("before their time, the channel has %d messages", len(got))
				}
				time.Sleep(20 * time.Second)
				want := "[]"
				if wakes {
					want = "[small behind]"
				}
				if got := w.committedBodies("orders"); fmt.Sprint(got) != want {
					t.Errorf("the channel has %v, want %s", got, want)
				}
				limit("1000000")
				time.Sleep(16 * time.Minute)
				if got := w.committedBodies("orders"); wakes && (len(got) != 3 || len(got[2]) != 5000) {
					t.Errorf("the channel has %d messages, want 3", len(got))
				}
				if err := s.Close(w.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// A result of Transform with a delay waits once, and comes once, at its time, also if its transaction fails at first.
func TestLaterTransformed(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 1}, Brokers: w.cluster.ListenAddrs()}
		b := w.backend(o)
		c, err := godwit.NewConsumer(w.Context(), b, "orders", &godwit.ConsumerOptions{Concurrency: 10})
		if err != nil {
			t.Fatal(err)
		}
		results, err := godwit.NewProducer(w.Context(), b, "results", nil)
		if err != nil {
			t.Fatal(err)
		}
		to := driver.Channel{Queue: "results"}
		if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: to, Owner: true}); err != nil {
			t.Fatal(err)
		}
		recv, err := b.Receiver(w.Context(), to, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = recv.Close(w.Context()) }()
		var once sync.Once
		w.cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (_ kmsg.Response, err error, handled bool) {
			w.cluster.KeepControl()
			once.Do(func() { err, handled = errCut, true })
			return nil, err, handled
		})
		const n = 10
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(i))
		}
		w.send(0, want...)
		ctx, cancel := context.WithTimeout(w.Context(), 40*time.Second)
		defer cancel()
		if _, err := godwit.Transform(ctx, c, results, func(_ context.Context, d *godwit.Delivery) (
			[]godwit.Message, error,
		) {
			return []godwit.Message{{Body: d.Body, OrderKey: "k", Delay: 2 * time.Minute}}, nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := w.committedBodies("results"); len(got) != 0 {
			t.Errorf("before their time, the results are %v", got)
		}
		time.Sleep(3 * time.Minute)
		got := w.committedBodies("results")
		if slices.Sort(got); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the results are %v, want %v", got, want)
		}
	})
}

// Messages of a mapped channel wait in a topic of Godwit's own, and go to the topic of the channel. Operators work on
// what waits, while the mapped topic is left alone.
func TestLaterMapped(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		l := w.begin(o, driver.Events{})
		begun := time.Now()
		l.put(orders,
			driver.Message{Body: []byte("soon"), OrderKey: "k", Delay: time.Minute},
			driver.Message{Body: []byte("purged"), OrderKey: "k", Delay: time.Hour},
		)
		gone, now := l.cancellable("gone", time.Minute), l.cancellable("now", 9*time.Minute)
		if found, err := ops.Find(w.Context(), l.b, "orders@later"); err != nil || found.Mapped ||
			found.Address != "prod.orders.later" {
			t.Errorf("found %+v, %v", found, err)
		}
		l.waits("soon", "gone", "now", "purged")
		if cancelled, err := driver.OperationsOf(l.b).Cancel(w.Context(), orders, gone); err != nil || !cancelled {
			t.Errorf("cancelled: %v, %v", cancelled, err)
		}
		if sends, err := driver.OperationsOf(l.b).SendNow(w.Context(), orders, now); err != nil || !sends {
			t.Errorf("sent on: %v, %v", sends, err)
		}
		ds := l.within(1, 30*time.Second)
		w.same(ds, "now")
		l.settle(driver.Done, ds...)
		ds = l.within(1, 2*time.Minute)
		w.same(ds, "soon")
		if took := time.Since(begun); took < time.Minute || took > time.Minute+2*time.Second {
			t.Errorf("the message was delivered after %v", took)
		}
		l.settle(driver.Done, ds...)
		got := w.committedBodies(shopOrders)
		if slices.Sort(got); fmt.Sprint(got) != "[now soon]" {
			t.Errorf("the topic has %v", got)
		}
		if p, err := ops.Purge(w.Context(), l.b, "orders@later", nil); err != nil || p.Messages != 1 {
			t.Errorf("purged %+v, %v", p, err)
		}
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := ops.Remove(w.Context(), l.b, "orders", nil); driver.ClassOf(err) != driver.Permanent {
			t.Errorf("removal of a mapped channel: %v", err)
		}
		if r, err := ops.Remove(w.Context(), l.b, "orders@later", nil); err != nil ||
			fmt.Sprint(r.Resources) != "[group prod.orders.later topic prod.orders.later]" {
			t.Errorf("removed %+v, %v", r, err)
		}
	})
}
