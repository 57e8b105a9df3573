package godwit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

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
