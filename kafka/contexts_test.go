//go:build synctests

package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/kafka"
)

// hanging is a process whose broker does not answer any more from some time on.
type hanging struct{ *life }

// Hang cuts the connections, and lets new ones get no answer.
func (h hanging) Hang() {
	h.wire.hangs = true
	h.crash()
}

func newHanging(t *testing.T) hanging {
	w := &world{T: t, network: &kfake.VirtualNetwork{}}
	var err error
	if w.cluster, err = kfake.NewCluster(kfake.Ports(9092), kfake.ListenFn(w.network.Listen)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.cluster.Close)
	w.client, err = kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.client.Close)
	w.admin = kadm.NewClient(w.client)
	l := w.begin(kafka.Options{}, driver.Events{})
	l.reject("x")
	return hanging{l}
}

// Every function of the package that takes a context ends with it, although the broker does not answer.
func TestContextsEnd(t *testing.T) {
	type ctx = context.Context
	// simple is a case without preparation.
	simple := func(call func(c ctx, b *kafka.Backend) error) func(h hanging) func(ctx) error {
		return func(h hanging) func(ctx) error { return func(c ctx) error { return call(c, h.b) } }
	}
	letters := orders
	letters.DeadLetter = true
	contexts.Check(t, ".", newHanging, contexts.Cases[hanging]{
		"Open": func(h hanging) func(ctx) error {
			return func(c ctx) error {
				b, err := kafka.Open(c, &kafka.Options{
					Brokers: h.w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(h.wire.DialContext)},
				})
				if err == nil {
					err = b.Close(c)
				}
				return err
			}
		},
		"Backend.Activity": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Activity(c, []driver.Channel{orders}, time.Now())
			return err
		}),
		"Backend.Close": simple(func(c ctx, b *kafka.Backend) error { return b.Close(c) }),
		"Backend.Catalog": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Catalog(c)
			return err
		}),
		"Backend.Inspect": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Inspect(c, orders)
			return err
		}),
		"Backend.Orphans": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Orphans(c, time.Now())
			return err
		}),
		"Backend.Peek": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Peek(c, orders, driver.PeekFrom{}, 1)
			return err
		}),
		"Backend.Ensure": simple(func(c ctx, b *kafka.Backend) error {
			return b.Ensure(c, driver.ChannelSpec{Channel: driver.Channel{Queue: "elsewhere"}, Owner: true})
		}),
		"Backend.Find": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Find(c, letters)
			return err
		}),
		"Backend.Purge": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Purge(c, orders, false)
			return err
		}),
		"Backend.Receiver": simple(func(c ctx, b *kafka.Backend) error {
			r, err := b.Receiver(c, letters, driver.ReceiverOptions{Concurrency: 1})
			if err == nil {
				err = r.Close(c)
			}
			return err
		}),
		"Backend.Remove": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Remove(c, orders, false)
			return err
		}),
		"Backend.Return": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Return(c, letters, false)
			return err
		}),
		"Backend.Rewind": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Rewind(c, orders, driver.Position{}, false)
			return err
		}),
		"Backend.Sender": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Sender(c, driver.Channel{Queue: "elsewhere"})
			return err
		}),
		"Backend.Snapshot": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Snapshot(c, orders)
			return err
		}),
		"Backend.Restore": func(h hanging) func(ctx) error {
			s, err := h.b.Snapshot(h.w.Context(), orders)
			if err != nil {
				h.w.Fatal(err)
			}
			return func(c ctx) error {
				_, err := h.b.Restore(c, s.Data)
				return err
			}
		},
		"Backend.Transform": func(h hanging) func(ctx) error {
			c, err := godwit.NewConsumer(h.w.Context(), h.b, "orders",
				&godwit.ConsumerOptions{ShutdownTimeout: time.Second})
			if err != nil {
				h.w.Fatal(err)
			}
			p, err := godwit.NewProducer(h.w.Context(), h.b, "elsewhere", nil)
			if err != nil {
				h.w.Fatal(err)
			}
			return func(ctx ctx) error {
				_, err := godwit.Transform(ctx, c, p,
					func(context.Context, *godwit.Delivery) ([]godwit.Message, error) { return nil, nil })
				return err
			}
		},
		"Partitions.Seek": simple(func(c ctx, b *kafka.Backend) error {
			_, err := b.Partitions("orders").Seek(c, driver.Position{})
			return err
		}),
		"State.Load": func(h hanging) func(ctx) error {
			s := h.state("alerts")
			return func(c ctx) error {
				_, _, err := s.Load(c)
				return err
			}
		},
		"State.Store": func(h hanging) func(ctx) error {
			s := h.state("alerts")
			return func(c ctx) error { return s.Store(c, []byte("x"), "") }
		},
	}, map[string]string{
		"MemoryDeadLetters.Put": "it is in memory",
		"MemoryRetryQueue.Put":  "it is in memory",
	})
}
