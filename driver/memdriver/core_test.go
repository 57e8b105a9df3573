package memdriver_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
)

// The core keeps its promises on this backend: an order that fails three times is a dead letter with its reason, later
// orders of the same customer wait for that, and those of other customers do not.
func TestTheCoreStandsOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := open(t, nil)
		run := func(channel string, o *godwit.ConsumerOptions, h godwit.Handler) {
			t.Helper()
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			c, err := godwit.NewConsumer(t.Context(), backend, channel, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(ctx, h); err != nil {
				t.Fatal(err)
			}
		}
		run("orders", &godwit.ConsumerOptions{Ordered: true},
			func(context.Context, *godwit.Delivery) error { return nil })
		p, err := godwit.NewProducer(t.Context(), backend, "orders", &godwit.ProducerOptions{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []godwit.Message{
			{OrderKey: "ada", Body: []byte("bad")},
			{OrderKey: "ada", Body: []byte("next")},
			{OrderKey: "bob", Body: []byte("free")},
		} {
			if err := p.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var handled []string
		o := &godwit.ConsumerOptions{Ordered: true, Concurrency: 1, Backoff: godwit.Constant(10 * time.Minute)}
		run("orders", o, func(_ context.Context, d *godwit.Delivery) error {
			handled = append(handled, string(d.Body))
			if string(d.Body) == "bad" {
				return errors.New("no such customer")
			}
			return nil
		})
		if want := []string{"bad", "free", "bad", "bad", "next"}; !slices.Equal(handled, want) {
			t.Errorf("handled %q, want %q", handled, want)
		}
		var letters int
		run("orders@dlq", nil, func(_ context.Context, d *godwit.Delivery) error {
			letters++
			if x := d.Death; string(d.Body) != "bad" || x == nil || x.Error != "no such customer" || x.Attempts != 3 {
				t.Errorf("the dead letter is %q with Death %+v", d.Body, x)
			}
			return nil
		})
		if letters != 1 {
			t.Errorf("%d dead letters, want 1", letters)
		}
	})
}
