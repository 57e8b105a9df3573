package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
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

// While an operator has paused the channel, its consumer is healthy and Paused, handles what it holds, polls a few
// times a minute, and logs the pause once. It goes on when the channel is resumed.
func TestAPauseAtTheService(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var log bytes.Buffer
			var states []string
			c := w.consumer("orders", &godwit.ConsumerOptions{
				Ordered: ordered, Concurrency: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Hooks: godwit.Hooks{State: func(_, to godwit.State) { states = append(states, to.String()) }},
			})
			ch := driver.Channel{Queue: "orders", Ordered: ordered}
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			w.send(p, body("a"))
			run := w.run(c, func(context.Context, *godwit.Delivery) error {
				time.Sleep(time.Minute)
				return nil
			})
			time.Sleep(30 * time.Second)
			if changes, err := w.backend.Pause(w.Context(), ch, false); err != nil || !changes {
				t.Fatalf("%v, %v", changes, err)
			}
			time.Sleep(15 * time.Second) // the open poll ends
			w.send(p, body("b"))
			time.Sleep(2 * time.Minute)
			if h := c.Health(); h.State != godwit.StatePaused || !h.PausedAtService || h.Paused ||
				len(h.Unhealthy) > 0 || time.Since(h.LastPoll) > 21*time.Second {
				t.Errorf("paused: %+v", h)
			}
			before := w.calls("sqs.ReceiveMessage", "sqs.GetQueueAttributes")
			time.Sleep(10 * time.Minute)
			if n := w.calls("sqs.ReceiveMessage", "sqs.GetQueueAttributes") - before; n < 60 || n > 120 {
				t.Errorf("%d requests in ten minutes", n)
			}
			if changes, err := w.backend.Resume(w.Context(), ch, false); err != nil || !changes {
				t.Fatalf("%v, %v", changes, err)
			}
			time.Sleep(90 * time.Second)
			if h := c.Health(); h.State == godwit.StatePaused || h.PausedAtService {
				t.Errorf("resumed: %+v", h)
			}
			if r := run.stop(); r.Handled != 2 {
				t.Errorf("report %+v", r)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 2 {
				t.Errorf("%d lines of the log are about it:\n%s", n, &log)
			}
			want := []string{"Initialized", "Listening", "Processing", "Listening", "Paused", "Listening", "Processing"}
			if diff := cmp.Diff(want, states[:min(len(want), len(states))]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A consumer that Pause has paused is in state Paused when its last handler has ended, also if it begins paused.
func TestStateOfAPausedConsumer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		c.Pause()
		run := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(time.Minute); return nil })
		w.send(w.producer("orders", nil), body("x"))
		for _, step := range []struct {
			do   func()
			want godwit.State
		}{
			{func() {}, godwit.StatePaused},
			{c.Resume, godwit.StateProcessing},
			{c.Pause, godwit.StateProcessing},
			{func() { time.Sleep(time.Minute) }, godwit.StatePaused},
			{c.Resume, godwit.StateListening},
			{func() { time.Sleep(time.Minute) }, godwit.StateIdle},
			{c.Pause, godwit.StatePaused},
		} {
			step.do()
			time.Sleep(time.Second)
			if got := c.Health().State; got != step.want {
				t.Errorf("it is %v, want %v", got, step.want)
			}
		}
		run.stop()
	})
}
