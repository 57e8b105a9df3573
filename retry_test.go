package godwit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// A delivery that was kept and then retried comes again like any other: left unsettled, it is given back.
func TestAKeptDeliveryIsNotKeptForItsNextAttempt(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), body("x"))
		starts := 0
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if starts++; starts == 1 {
				d.Keep()
				if err := d.Retry(time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if starts == 2 {
				continue // neither settled nor kept
			}
			if starts == 3 {
				if err := d.Done(); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if r, err := c.Close(w.Context()); err != nil || r.Handled != 1 || r.GivenBack != 1 {
			t.Errorf("report %+v, error %v", r, err)
		}
	})
}

// What was retried here and then given back several times has still been started only as often as it was: the service
// counts receives, and at some point they are as many as the starts.
func TestGiveBacksAfterHeldRetriesAreNoAttempts(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, MaxAttempts: 10})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), body("x"))
		var attempts []int
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			switch attempts = append(attempts, d.Attempt); len(attempts) {
			case 1, 2:
				return d.Retry(time.Second)
			case 3, 4, 5, 6:
				return d.Release()
			}
			return nil
		})
		time.Sleep(time.Minute)
		r.stop()
		if want := []int{1, 2, 3, 3, 3, 3, 3}; !slices.Equal(attempts, want) {
			t.Errorf("the attempts were %v, want %v", attempts, want)
		}
	})
}
