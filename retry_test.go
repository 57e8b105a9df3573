package godwit_test

import (
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
