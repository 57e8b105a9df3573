package godwit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// Messages that come one by one share sends and polls, within the tolerated delay.
func TestRequestsAreSaved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const tolerance, linger = time.Minute, 200 * time.Millisecond
		p := w.producer("orders", &godwit.ProducerOptions{Linger: linger})
		w.latency(5 * time.Millisecond)
		c := w.consumer("orders", &godwit.ConsumerOptions{SaveRequests: true, DelayTolerance: tolerance})
		var oldest atomic.Int64
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			oldest.Store(max(oldest.Load(), int64(time.Since(d.SentAt))))
			return nil
		})
		before := w.queueCalls() + w.calls("sqs.SendMessage", "sqs.SendMessageBatch")
		const n = 3000
		results := make([]*godwit.Result, n)
		for i := range results {
			var err error
			if results[i], err = p.SendAsync(w.Context(), body("work")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, one := range results {
			if err := one.Wait(w.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(tolerance / 20)
		calls := w.queueCalls() + w.calls("sqs.SendMessage", "sqs.SendMessageBatch") - before
		if share := float64(calls) / n; share > 0.4 {
			t.Errorf("%.2f requests a message", share)
		}
		if age := time.Duration(oldest.Load()); age > tolerance/20+linger {
			t.Errorf("a message was %v old when it started", age)
		}
		idle := w.queueCalls()
		time.Sleep(time.Hour)
		if calls := w.queueCalls() - idle; calls > 182 {
			t.Errorf("%d requests in an idle hour", calls)
		}
		if report := r.stop(); report.Handled != n {
			t.Errorf("report %+v", report)
		}
	})
}

// A backlog is handled as fast as without pauses, and there are no pauses for messages that are already old.
func TestNoPausesForOldMessages(t *testing.T) {
	t.Parallel()
	took := map[bool]time.Duration{}
	for _, save := range []bool{false, true} {
		inWorld(t, func(w *world) {
			const n = 1000
			w.send(w.producer("orders", nil), many(n, "")...)
			time.Sleep(30 * time.Second)
			began, done := time.Now(), make(chan struct{})
			var handled atomic.Int64
			c := w.consumer("orders", &godwit.ConsumerOptions{
				SaveRequests: save, DelayTolerance: time.Minute,
				BatchSize: 3,
			})
			r := w.run(c, func(context.Context, *godwit.Delivery) error {
				if time.Sleep(20 * time.Millisecond); handled.Add(1) == n {
					close(done)
				}
				return nil
			})
			<-done
			took[save] = time.Since(began)
			r.stop()
		})
	}
	if took[true] > took[false]*11/10 {
		t.Errorf("a backlog takes %v, and %v without pauses", took[true], took[false])
	}
}
