package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			inWorld(t, func(w *world) {
				queue := "orders" + map[bool]string{true: ".fifo"}[ordered]
				c := w.consumer("orders", &godwit.ConsumerOptions{
					Ordered: ordered, Concurrency: 2,
					Backoff: godwit.Constant(time.Minute),
				})
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
				for _, key := range []string{"a", "b", "c"} {
					w.send(p, many(5, key)...)
				}
				var failed atomic.Bool
				run := w.run(c, func(context.Context, *godwit.Delivery) error {
					time.Sleep(time.Second)
					if failed.CompareAndSwap(false, true) {
						return errors.New("not yet")
					}
					return nil
				})
				time.Sleep(1500 * time.Millisecond) // two are done, one of them waits for its retry, two run
				c.Pause()
				c.Pause()
				time.Sleep(2 * time.Second)
				if h := c.Health(); !h.Paused || h.Running != 0 {
					t.Errorf("paused: %+v", h)
				}
				calls := w.calls("sqs.ReceiveMessage")
				time.Sleep(10 * time.Minute)
				if n := w.calls("sqs.ReceiveMessage") - calls; n != 0 {
					t.Errorf("%d polls while paused", n)
				}
				for _, m := range w.messages(queue) {
					if m.State.String() != "visible" {
						t.Errorf("while paused %q is %s", m.Body, m.State)
					}
				}
				c.Resume()
				time.Sleep(5 * time.Minute)
				w.visible(queue, 0)
				if r := run.stop(); r.Handled != 15 {
					t.Errorf("report %+v", r)
				}
			})
		})
	}
}

func TestAConsumerMayBePausedBeforeItRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), body("x"))
		c.Pause()
		run := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Minute)
		w.visible("orders", 1)
		c.Resume()
		time.Sleep(time.Minute)
		w.visible("orders", 0)
		c.Pause()
		run.stop()
	})
}

func TestSetConcurrency(t *testing.T) {
	t.Parallel()
	for _, fleet := range []bool{false, true} {
		t.Run(fmt.Sprint("fleet ", fleet), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 2})
				w.send(w.producer("orders", nil), many(2000, "x")...)
				var now, most atomic.Int64
				handler := func(context.Context, *godwit.Delivery) error {
					if n := now.Add(1); n > most.Load() {
						most.Store(n)
					}
					time.Sleep(time.Second)
					now.Add(-1)
					return nil
				}
				var stop func()
				if fleet {
					end := w.fleet(&godwit.FleetOptions{Concurrency: 50}, c.With(handler))
					stop = func() { _ = end() }
				} else {
					run := w.run(c, handler)
					stop = func() { run.stop() }
				}
				for _, n := range []int{2, 30, 5, 1, 12} {
					if err := c.SetConcurrency(n); err != nil {
						t.Fatal(err)
					}
					time.Sleep(1500 * time.Millisecond) // surplus handlers finish
					most.Store(0)
					time.Sleep(10 * time.Second)
					if got := most.Load(); got != int64(n) {
						t.Errorf("%d handlers at the same time, want %d", got, n)
					}
				}
				if err := c.SetConcurrency(0); !errors.Is(err, godwit.ErrInvalid) {
					t.Errorf("SetConcurrency to 0: %v", err)
				}
				stop()
			})
		})
	}
}
