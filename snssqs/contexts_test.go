package snssqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/contexts"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// Hang makes the server answer nothing.
func (w *world) Hang() {
	w.server.Control("*", func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Delay: time.Hour}
	})
}

// Every function of the package that takes a context ends with it, although the service answers nothing.
func TestContextsEnd(t *testing.T) {
	type ctx = context.Context
	// simple is a case without preparation.
	simple := func(call func(c ctx, b *snssqs.Backend) error) func(w *world) func(ctx) error {
		return func(w *world) func(ctx) error {
			w.ensure(owner(orders))
			other := w.open(snssqs.Options{}) // it knows nothing yet
			return func(c ctx) error { return call(c, other) }
		}
	}
	open := func(t *testing.T) *world {
		w := newWorld(t, localaws.Options{})
		t.Cleanup(func() { _ = w.server.Close() })
		return w
	}
	elsewhere := driver.Channel{Queue: "elsewhere"}
	letters := driver.Channel{Queue: "orders", DeadLetter: true}
	contexts.Check(t, ".", open, contexts.Cases[*world]{
		"Backend.Activity": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Activity(c, []driver.Channel{orders}, time.Now())
			return err
		}),
		"Backend.Catalog": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Catalog(c)
			return err
		}),
		"Backend.Inspect": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Inspect(c, orders)
			return err
		}),
		"Backend.Move": simple(func(c ctx, b *snssqs.Backend) error { return b.Move(c, letters, orders, 0) }),
		"Backend.Moves": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Moves(c, letters)
			return err
		}),
		"Backend.CancelMove": simple(func(c ctx, b *snssqs.Backend) error { return b.CancelMove(c, "task") }),
		"Backend.Pause": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Pause(c, orders, false)
			return err
		}),
		"Backend.Resume": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Resume(c, orders, false)
			return err
		}),
		"Backend.Ensure": simple(func(c ctx, b *snssqs.Backend) error {
			return b.Ensure(c, driver.ChannelSpec{Channel: elsewhere, Owner: true})
		}),
		"Backend.Peek": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Peek(c, orders, driver.PeekFrom{}, 1)
			return err
		}),
		"Backend.Find": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Find(c, letters)
			return err
		}),
		"Backend.Purge": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Purge(c, orders, false)
			return err
		}),
		"Backend.Receiver": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Receiver(c, orders, driver.ReceiverOptions{})
			return err
		}),
		"Backend.Remove": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Remove(c, orders, false)
			return err
		}),
		"Backend.Return": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Return(c, letters, false)
			return err
		}),
		"Backend.Sender": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Sender(c, orders)
			return err
		}),
		"Backend.Snapshot": simple(func(c ctx, b *snssqs.Backend) error {
			_, err := b.Snapshot(c, orders)
			return err
		}),
		"Backend.Restore": func(w *world) func(ctx) error {
			w.ensure(owner(orders))
			s, err := w.b.Snapshot(w.Context(), orders)
			if err != nil {
				w.Fatal(err)
			}
			return func(c ctx) error {
				_, err := w.b.Restore(c, s.Data)
				return err
			}
		},
		"Backend.Close": simple(func(c ctx, b *snssqs.Backend) error { return b.Close(c) }),
		"Notifier.Notify": func(w *world) func(ctx) error {
			n, err := w.b.NewNotifier("arn:aws:sns:us-east-1:000000000000:alerts")
			if err != nil {
				w.Fatal(err)
			}
			return func(c ctx) error { return n.Notify(c, &driver.Notice{Title: "x"}) }
		},
	}, map[string]string{
		"Open":              "it makes no request",
		"Received.Sender":   "it is a sender of its backend",
		"Received.Receiver": "its messages are in memory",
		"Received.Close":    "it closes nothing",
	})
}
