package godwit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
)

// hang makes the calls of an action hang for an hour, while the returned flag is set.
func (w *world) hang(action string) (on *atomic.Bool) {
	on = new(atomic.Bool)
	on.Store(true)
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		if !on.Load() {
			return localaws.Outcome{}
		}
		return localaws.Outcome{Delay: time.Hour}
	})
	return on
}

// If the service hangs, Send returns after RetryFor, or after the last call that began before.
func TestASendDoesNotHangBeyondItsTime(t *testing.T) {
	t.Parallel()
	for retryFor, most := range map[time.Duration]time.Duration{
		0: 20 * time.Second, time.Millisecond: 5 * time.Second, 12 * time.Second: 12 * time.Second,
		time.Minute: time.Minute,
	} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprint(retryFor, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					p := w.producer("orders", &godwit.ProducerOptions{RetryFor: retryFor, Ordered: ordered})
					on := w.hang(sends)
					var wg sync.WaitGroup
					for i := range 100 {
						wg.Go(func() {
							begun := time.Now()
							m := body(fmt.Sprint(i))
							if ordered {
								m.OrderKey = fmt.Sprint(i)
							}
							err := p.Send(w.Context(), m)
							if took := time.Since(begun); err == nil || took > most+2*time.Second {
								t.Errorf("after %v: %v", took, err)
							}
						})
					}
					wg.Wait()
					on.Store(false)
					time.Sleep(time.Minute) // until the circuit breaker probes again
					if err := p.Send(w.Context(), body("after it")); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// Deletes that hang are canceled and repeated, and delay nothing else.
func TestHangingDeletesDelayNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		on := w.hang("sqs.DeleteMessageBatch")
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 2})
		p := w.producer("orders", nil)
		for i := range 60 {
			if err := p.Send(w.Context(), body(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(25 * time.Second)
		on.Store(false)
		time.Sleep(20 * time.Second)
		w.visible("orders", 0)
		if h := c.Health(); len(h.Unhealthy) > 0 && !strings.Contains(h.Unhealthy[0], "verdict") {
			t.Errorf("health is %+v", h)
		}
		if report := r.stop(); report.Handled != 60 {
			t.Errorf("reported %+v", report)
		}
	})
}
