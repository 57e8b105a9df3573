package godwit_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

// Hang makes the server answer no calls, or none of those in hangs.
func (w *world) Hang() {
	w.server.Control(cmp.Or(w.hangs, "*"), func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: time.Hour}
	})
}

// newHanging returns a world that contexts.Check lets hang.
func newHanging(t *testing.T) *world {
	b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}, Cancel: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return &world{T: t, backend: b, server: b.Server()}
}

// short is a consumer whose shutdown lasts a second.
func (w *world) short() *godwit.Consumer {
	return w.consumer("orders", &godwit.ConsumerOptions{ShutdownTimeout: time.Second})
}

func succeed(context.Context, *godwit.Delivery) error { return nil }

// Every function of the package that takes a context ends with it, although the service answers nothing.
func TestContextsEnd(t *testing.T) {
	message := godwit.Message{Body: []byte("x")}
	contexts.Check(t, ".", newHanging, contexts.Cases[*world]{
		"NewProducer": func(w *world) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := godwit.NewProducer(ctx, w.backend, "orders", nil)
				return err
			}
		},
		"NewConsumer": func(w *world) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := godwit.NewConsumer(ctx, w.backend, "orders", nil)
				return err
			}
		},
		"Producer.Send": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			return func(ctx context.Context) error { return p.Send(ctx, message) }
		},
		"Producer.SendBatch": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			return func(ctx context.Context) error { return p.SendBatch(ctx, []godwit.Message{message, message}) }
		},
		"Producer.SendAsync": func(w *world) func(context.Context) error {
			p := w.producer("orders", &godwit.ProducerOptions{Buffer: 1})
			return func(ctx context.Context) error {
				_, err := p.SendAsync(ctx, message)
				_, full := p.SendAsync(ctx, message)
				return errors.Join(err, full)
			}
		},
		"Producer.Cancel": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			var r godwit.Receipt
			m := godwit.Message{Body: []byte("x"), Delay: time.Hour, Cancellable: true, Receipt: &r}
			if err := p.Send(w.Context(), m); err != nil {
				w.Fatal(err)
			}
			return func(ctx context.Context) error {
				_, err := p.Cancel(ctx, r.ID)
				return err
			}
		},
		"Every": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			return func(ctx context.Context) error { return godwit.Every(ctx, p, minutely()) }
		},
		"Producer.Close": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			return func(ctx context.Context) error {
				if _, err := p.SendAsync(ctx, message); err != nil {
					return err
				}
				return p.Close(ctx)
			}
		},
		"Result.Wait": func(w *world) func(context.Context) error {
			p := w.producer("orders", nil)
			return func(ctx context.Context) error {
				r, err := p.SendAsync(ctx, message)
				if err != nil {
					return err
				}
				return r.Wait(ctx)
			}
		},
		"Sender.Send": func(w *world) func(context.Context) error {
			s := godwit.NewSender[string](w.producer("orders", nil), godwit.JSON)
			return func(ctx context.Context) error { return s.Send(ctx, "x", godwit.Message{}) }
		},
		"Consumer.Run": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) error {
				_, err := c.Run(ctx, succeed)
				return err
			}
		},
		"Consumer.RunBatches": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) error {
				_, err := c.RunBatches(ctx, func(context.Context, []*godwit.Delivery) error { return nil }, nil)
				return err
			}
		},
		"RunAll": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) error { return godwit.RunAll(ctx, nil, c.With(succeed)) }
		},
		"Consumer.Deliveries": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) (err error) {
				for _, err = range c.Deliveries(ctx) {
				}
				return err
			}
		},
		"Consumer.Batches": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) (err error) {
				for _, err = range c.Batches(ctx) {
				}
				return err
			}
		},
		"Consumer.Close": func(w *world) func(context.Context) error {
			c := w.consumer("orders", nil)
			iterating, stop := context.WithCancel(w.Context())
			return func(ctx context.Context) error {
				time.AfterFunc(time.Second, stop)
				for _, err := range c.Deliveries(iterating) {
					return err
				}
				_, err := c.Close(ctx)
				return err
			}
		},
		"Consumer.Demand": func(w *world) func(context.Context) error {
			c := w.short()
			return func(ctx context.Context) error {
				_, err := c.Demand(ctx)
				return err
			}
		},
		"Delivery.Open": func(w *world) func(context.Context) error {
			w.hangs = "s3.*"
			p := w.producer("orders", nil)
			if err := p.Send(w.Context(), godwit.Message{Body: make([]byte, 1<<20)}); err != nil {
				w.Fatal(err)
			}
			c := w.consumer("orders", &godwit.ConsumerOptions{Stream: true, ShutdownTimeout: time.Second})
			return func(ctx context.Context) error {
				var err error
				hanging := make(chan struct{})
				running, cancel := context.WithCancel(context.Background())
				defer cancel()
				go func() {
					defer close(hanging)
					_, _ = c.Run(running, func(_ context.Context, d *godwit.Delivery) error {
						_, err = d.Open(ctx)
						cancel()
						return err
					})
				}()
				<-hanging
				return err
			}
		},
	}, map[string]string{
		"MemoryStore.Begin":   "it is in memory",
		"MemoryStore.Finish":  "it is in memory",
		"MemoryStore.Abandon": "it is in memory",
		"DeliveryOf":          "it only reads the context",
		"Router.Serve":        "it calls a handler, which gets the context",
		"Transform":           "on Kafka only: TestContextsEnd of package kafka",
	})
}
