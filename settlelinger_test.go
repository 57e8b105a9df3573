package godwit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// deletes is the number of requests that delete messages.
func (w *world) deletes() int { return w.calls("sqs.DeleteMessage", "sqs.DeleteMessageBatch") }

// Messages that come one by one share deletes, unless the consumer deletes at once.
func TestHandledMessagesWaitForOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		linger      time.Duration
		least, most float64 // deletes a message
	}{{0, 0.05, 0.15}, {-1, 0.5, 1}} {
		t.Run(fmt.Sprint(c.linger), func(t *testing.T) {
			inWorld(t, func(w *world) {
				p := w.producer("orders", nil)
				w.latency(5 * time.Millisecond)
				r := w.run(w.consumer("orders", &godwit.ConsumerOptions{SettleLinger: c.linger}),
					func(context.Context, *godwit.Delivery) error { return nil })
				before := w.deletes()
				w.steady(p, 10*time.Millisecond, 20*time.Second)
				report := r.stop()
				share := float64(w.deletes()-before) / float64(report.Handled)
				if report.Handled < 1300 || share < c.least || share > c.most {
					t.Errorf("%d messages handled, %.2f deletes each; want %.2f to %.2f", report.Handled, share,
						c.least, c.most)
				}
			})
		})
	}
}

// SQS delivers the next messages of a key only when it has the settlements of those before, so the last of them does
// not wait.
func TestTheLastOfAKeyDoesNotWait(t *testing.T) {
	t.Parallel()
	took := map[time.Duration]time.Duration{}
	for _, linger := range []time.Duration{0, -1} {
		inWorld(t, func(w *world) {
			const n = 500
			w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(n, "one")...)
			w.latency(15 * time.Millisecond)
			before, began, done := w.deletes(), time.Now(), make(chan struct{})
			var handled atomic.Int64
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, SettleLinger: linger})
			r := w.run(c, func(context.Context, *godwit.Delivery) error {
				time.Sleep(time.Millisecond)
				if handled.Add(1) == n {
					close(done)
				}
				return nil
			})
			<-done
			took[linger] = time.Since(began)
			r.stop()
			if share := float64(w.deletes()-before) / n; linger == 0 && share > 0.12 {
				t.Errorf("%.2f deletes a message", share)
			}
		})
	}
	if took[0] > took[-1]*11/10 {
		t.Errorf("one key takes %v, and %v without the wait", took[0], took[-1])
	}
}

// A stop does not wait for other settlements, nor do deliveries that are handled during the stop.
func TestAStopDeletesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(3, "")...)
		began := make(chan struct{}, 3)
		c := w.consumer("orders", &godwit.ConsumerOptions{SettleLinger: 3 * time.Second})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if began <- struct{}{}; string(d.Body) == " 2" {
				time.Sleep(time.Second)
			}
			return nil
		})
		for range cap(began) {
			<-began
		}
		time.Sleep(500 * time.Millisecond)
		if got := w.deletes(); got != 0 {
			t.Errorf("%d deletes before the stop", got)
		}
		stopped := time.Now()
		report := r.stop()
		if took := time.Since(stopped); took > 600*time.Millisecond || report.Handled != 3 ||
			len(w.messages("orders")) != 0 {
			t.Errorf("after %v: %+v", took, report)
		}
	})
}
