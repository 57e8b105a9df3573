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

	"github.com/godwitmq/godwit"
)

// asking is a codec of strings that asks a service, which may fail.
type asking struct {
	fault atomic.Pointer[error] // nil: it works
	asked atomic.Int32
	at    atomic.Pointer[time.Time] // the deadline of the last call's context; nil: it had none
}

func (c *asking) ContentType() string { return "text/plain" }

func (c *asking) Encode(v any) ([]byte, error) { return c.EncodeContext(context.Background(), v) }

func (c *asking) Decode(body []byte, v any) error {
	return c.DecodeContext(context.Background(), body, v)
}

func (c *asking) EncodeContext(ctx context.Context, v any) ([]byte, error) {
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	return godwit.Raw.Encode(v)
}

func (c *asking) DecodeContext(ctx context.Context, body []byte, v any) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	return godwit.Raw.Decode(body, v)
}

func (c *asking) ask(ctx context.Context) error {
	c.asked.Add(1)
	c.at.Store(nil)
	if at, ok := ctx.Deadline(); ok {
		c.at.Store(&at)
	}
	if fault := c.fault.Load(); fault != nil {
		return *fault
	}
	return ctx.Err()
}

func (c *asking) fails(err error) { c.fault.Store(&err) }

// handleTexts handles the messages of orders in one of three ways until ctx ends, and returns the report.
func (w *world) handleTexts(ctx context.Context, way string, c *godwit.Consumer, codec godwit.Codec,
	saw func(d godwit.Typed[string]),
) (report godwit.Report, err error) {
	switch way {
	case "handler":
		return c.Run(ctx, godwit.Handle(codec, func(_ context.Context, d godwit.Typed[string]) error {
			saw(d)
			return nil
		}))
	case "batch":
		return c.RunBatches(ctx, godwit.HandleBatch(codec, func(_ context.Context, ds []godwit.Typed[string]) error {
			for _, d := range ds {
				saw(d)
			}
			return nil
		}), nil)
	}
	for d, failed := range godwit.Decode[string](codec, c.Deliveries(ctx)) {
		if err = errors.Join(err, failed); failed == nil {
			saw(d)
			err = errors.Join(err, d.Done())
		}
	}
	report, closed := c.Close(context.WithoutCancel(ctx))
	return report, errors.Join(err, closed)
}

// A codec that cannot work now holds messages until it can: no message is rejected, no attempt is counted, the policy
// is not asked, and log and health say what is wrong.
func TestACodecHoldsMessages(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"handler", "batch", "iterator"} {
		t.Run(way, func(t *testing.T) {
			inWorld(t, func(w *world) {
				const messages = 25
				codec := &asking{}
				texts := godwit.NewSender[string](w.producer("orders", nil), codec)
				for i := range messages {
					if err := texts.Send(w.Context(), fmt.Sprint(i), godwit.Message{}); err != nil {
						w.Fatal(err)
					}
				}
				codec.fails(godwit.HoldFor(30*time.Second, errors.New("the registry is down")))
				var log bytes.Buffer
				lines := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})
				c := w.consumer("orders", &godwit.ConsumerOptions{
					Logger: slog.New(lines),
					Policy: func(_ *godwit.Delivery, err error) godwit.Verdict {
						w.Errorf("the policy is asked about %v", err)
						return godwit.Verdict{Action: godwit.ActionReject}
					},
				})
				ctx, stop := context.WithTimeout(w.Context(), 45*time.Minute)
				defer stop()
				go func() {
					time.Sleep(40 * time.Minute)
					if ill := strings.Join(c.Health().Unhealthy, ";"); !strings.Contains(ill, "the registry is down") {
						w.Errorf("health: %q", ill)
					}
					codec.fault.Store(nil)
				}()
				var handled atomic.Int32
				report, err := w.handleTexts(ctx, way, c, codec, func(d godwit.Typed[string]) {
					if handled.Add(1); d.Attempt != 1 || d.Failures != 0 {
						w.Errorf("attempt %d, %d failures", d.Attempt, d.Failures)
					}
				})
				if err != nil || handled.Load() != messages || report.Rejected != 0 {
					w.Errorf("%d handled, %+v, %v", handled.Load(), report, err)
				}
				if dead := len(w.messages("orders--dlq")); dead != 0 {
					w.Errorf("%d dead letters", dead)
				}
				if n := strings.Count(log.String(), "the registry is down"); n < 30 || n > 45 {
					w.Errorf("%d lines in the log of 40 minutes", n)
				}
				if ill := c.Health().Unhealthy; len(ill) > 0 {
					w.Errorf("health: %q", ill)
				}
			})
		})
	}
}

// A mark of the codec counts as one of the handler; an error without a mark rejects the message.
func TestACodecMarksItsErrors(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"handler", "batch", "iterator"} {
		for _, c := range []struct {
			name     string
			err      error
			attempts int    // of the dead letter; 0: there is none
			ends     string // of the error with which the consumer ends; "": it goes on
		}{
			{"no mark", errors.New("no text"), 1, ""},
			{"permanent", godwit.Permanent(errors.New("no text")), 1, ""},
			{"retry", godwit.RetryAfter(time.Second, errors.New("no text")), 3, ""},
			{"fatal", godwit.Fatal(errors.New("no text")), 0, "no text"},
		} {
			t.Run(way+"/"+c.name, func(t *testing.T) {
				inWorld(t, func(w *world) {
					codec := &asking{}
					texts := godwit.NewSender[string](w.producer("orders", nil), codec)
					if err := texts.Send(w.Context(), "text", godwit.Message{}); err != nil {
						w.Fatal(err)
					}
					codec.fails(c.err)
					ctx, stop := context.WithTimeout(w.Context(), time.Minute)
					defer stop()
					var deaths []godwit.Death
					consumer := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{
						DeadLetter: func(_ *godwit.Delivery, death godwit.Death) { deaths = append(deaths, death) },
					}})
					handled := func(godwit.Typed[string]) { w.Error("handled") }
					_, err := w.handleTexts(ctx, way, consumer, codec, handled)
					if ends := err != nil; ends != (c.ends != "") || ends && !strings.Contains(err.Error(), c.ends) {
						w.Errorf("the consumer ended with %v", err)
					}
					if c.attempts == 0 {
						w.visible("orders", 1)
						return
					}
					if len(deaths) != 1 {
						w.Fatalf("%+v", deaths)
					}
					if deaths[0].Attempts != c.attempts || !strings.Contains(deaths[0].Error, "no text") {
						w.Errorf("%+v", deaths)
					}
				})
			})
		}
	}
}

// The codec gets the handler's context, whose deadline is that of the processing timeout, and the sender's.
func TestACodecGetsTheContext(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		codec := &asking{}
		texts := godwit.NewSender[string](w.producer("orders", nil), codec)
		sending, cancel := context.WithTimeout(w.Context(), time.Hour)
		defer cancel()
		if err := texts.Send(sending, "text", godwit.Message{}); err != nil {
			w.Fatal(err)
		}
		if at := codec.at.Load(); at == nil || !at.Equal(time.Now().Add(time.Hour)) {
			w.Errorf("the deadline of the send was %v", at)
		}
		cancel()
		if err := texts.Send(sending, "text", godwit.Message{}); !errors.Is(err, context.Canceled) {
			w.Errorf("a canceled send: %v", err)
		}
		ctx, stop := context.WithTimeout(w.Context(), time.Minute)
		defer stop()
		c := w.consumer("orders", &godwit.ConsumerOptions{ProcessingTimeout: 20 * time.Second})
		_, err := w.handleTexts(ctx, "handler", c, codec, func(godwit.Typed[string]) {
			if at := codec.at.Load(); at == nil || time.Until(*at) > 20*time.Second {
				w.Errorf("the deadline of the handler was %v", at)
			}
		})
		if err != nil {
			w.Error(err)
		}
	})
}

// HoldFor is for handlers, too, and never a loop without pauses.
func TestHoldFor(t *testing.T) {
	t.Parallel()
	if godwit.HoldFor(time.Second, nil) != nil {
		t.Error("nil became an error")
	}
	inWorld(t, func(w *world) {
		if err := w.producer("orders", nil).Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			w.Fatal(err)
		}
		ctx, stop := context.WithCancel(w.Context())
		starts, begun := 0, time.Now()
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		_, err := c.Run(ctx,
			func(context.Context, *godwit.Delivery) error {
				if ill := c.Health().Unhealthy; len(ill) > 0 {
					w.Errorf("unhealthy after %v: %q", time.Since(begun), ill)
				}
				if starts++; starts <= 10 {
					return fmt.Errorf("the bank: %w", godwit.HoldFor(0, errors.New("closed")))
				}
				stop()
				return nil
			})
		if took := time.Since(begun); err != nil || starts != 11 || took < 10*time.Second || took > time.Minute {
			w.Errorf("%d starts in %v, %v", starts, took, err)
		}
	})
}
