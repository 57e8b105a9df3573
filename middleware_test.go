package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
)

type localeKey struct{}

var locale = godwit.Meta{
	Header: "locale",
	From:   func(ctx context.Context) string { s, _ := ctx.Value(localeKey{}).(string); return s },
	Into:   func(ctx context.Context, v string) context.Context { return context.WithValue(ctx, localeKey{}, v) },
}

func TestMetasAreCarried(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 1,
			Middleware:  []godwit.Middleware{godwit.Restore(locale)},
		})
		p := w.producer("orders", &godwit.ProducerOptions{Middleware: []godwit.SendMiddleware{godwit.Carry(locale)}})
		ctx := context.WithValue(w.Context(), localeKey{}, "de")
		if err := p.Send(ctx, godwit.Message{Body: []byte("with")}); err != nil {
			t.Fatal(err)
		}
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("without")}); err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		seen := make(chan struct{}, 2)
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			defer func() { seen <- struct{}{} }()
			got[string(d.Body)] = ctx.Value(localeKey{})
			return nil
		})
		<-seen
		<-seen
		run.stop()
		if got["with"] != "de" || got["without"] != nil {
			t.Errorf("the handlers' locales were %v", got)
		}
	})
}

func TestMiddlewareIsOutermostFirst(t *testing.T) {
	t.Parallel()
	var trail []string
	mark := func(name string) godwit.Middleware {
		return func(next godwit.Handler) godwit.Handler {
			return func(ctx context.Context, d *godwit.Delivery) error {
				trail = append(trail, name)
				return next(ctx, d)
			}
		}
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1, Middleware: []godwit.Middleware{
			mark("first"), godwit.Log(log), mark("second"), godwit.Timeout(time.Second), godwit.Recover(),
		}})
		w.send(w.producer("orders", nil), body("secret"))
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
				t.Errorf("deadline %v", at)
			}
			panic("oops")
		})
		time.Sleep(time.Minute)
		if r := run.stop(); r.Rejected != 1 {
			t.Errorf("report %+v", r)
		}
	})
	if got := strings.Join(trail, " "); got != "first second" {
		t.Errorf("order of calls %q", got)
	}
	if s := logged.String(); !strings.Contains(s, "panic: oops") || strings.Contains(s, "secret") {
		t.Errorf("logged %q", s)
	}
}

func TestIdempotentHandlesAKeyOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		store := godwit.NewMemoryStore(0)
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Backoff: godwit.Constant(2 * time.Second),
			Middleware: []godwit.Middleware{
				godwit.Idempotent(store, func(d *godwit.Delivery) string { return d.Headers.Value("payment") },
					time.Minute),
			},
		})
		m := godwit.Message{Headers: godwit.Headers{{Name: "payment", Value: "17"}}}
		w.send(w.producer("orders", nil), m, m, m)
		worked := 0
		run := w.run(c, func(context.Context, *godwit.Delivery) error {
			time.Sleep(time.Second)
			if worked++; worked == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		time.Sleep(5 * time.Minute)
		if r := run.stop(); worked != 2 || r.Handled != 3 {
			t.Errorf("worked %d times, report %+v; want a failure, a success, and two skipped", worked, r)
		}
	})
}

// A duplicate that arrives while the first is handled is held until the claim ends. It does not count as an attempt,
// and the policy is not called for it.
func TestIdempotentHoldsABusyKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Middleware: []godwit.Middleware{
			godwit.Idempotent(godwit.NewMemoryStore(0), func(*godwit.Delivery) string { return "17" }, 10*time.Minute),
		}, Policy: func(d *godwit.Delivery, err error) godwit.Verdict {
			t.Errorf("the policy was asked about %v", err)
			return godwit.Verdict{Action: godwit.ActionReject}
		}})
		w.send(w.producer("orders", nil), many(8, "x")...)
		worked := 0
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			time.Sleep(4 * time.Minute)
			worked++
			return nil
		})
		time.Sleep(6 * time.Minute)
		if r := run.stop(); worked != 1 || r.Handled != 8 || r.Rejected+r.Retried+r.LeaseLost != 0 {
			t.Errorf("worked %d times, report %+v", worked, r)
		}
		w.visible("orders", 0)
	})
}

// If a handler ends without its work done, in any way, the next attempt can claim the key.
func TestIdempotentAbandonsTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		first func(context.Context) error
		dead  int64 // the processing timeout rejects
	}{
		{"error", func(context.Context) error { return errors.New("no") }, 0},
		{"panic", func(context.Context) error { panic("no") }, 0},
		{"Goexit", func(context.Context) error { runtime.Goexit(); return nil }, 0},
		{"timeout", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				store := godwit.NewMemoryStore(0)
				con := w.consumer("orders", &godwit.ConsumerOptions{
					Concurrency: 1, ProcessingTimeout: time.Minute,
					Backoff: godwit.Constant(time.Second),
					Middleware: []godwit.Middleware{godwit.Idempotent(store,
						func(*godwit.Delivery) string { return "17" }, time.Hour)},
				})
				w.send(w.producer("orders", nil), body("x"))
				worked := 0
				run := w.run(con, func(ctx context.Context, _ *godwit.Delivery) error {
					if worked++; worked == 1 {
						return c.first(ctx)
					}
					return nil
				})
				time.Sleep(2 * time.Minute)
				if r := run.stop(); r.Rejected != c.dead || r.Handled != 1-c.dead {
					t.Errorf("worked %d times, report %+v", worked, r)
				}
				if claim, _ := store.Begin(t.Context(), "orders/17", "test",
					0); (claim.State == godwit.ClaimFinished) != (c.dead == 0) || claim.State == godwit.ClaimBusy {
					t.Errorf("the key is %v", claim.State)
				}
			})
		})
	}
}

// A message with an empty key is rejected with the reason, because all messages with an empty key would count as one.
func TestIdempotentRefusesAnEmptyKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Middleware: []godwit.Middleware{
			godwit.Idempotent(godwit.NewMemoryStore(0),
				func(d *godwit.Delivery) string { return d.Headers.Value("payment") }, 0),
		}})
		w.send(w.producer("orders", nil), body("a"), body("b"))
		run := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Minute)
		if r := run.stop(); r.Rejected != 2 || r.Handled != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestMemoryStoreIsBoundedAndForgetsEndedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		zero := new(godwit.MemoryStore)
		if claim, err := zero.Begin(ctx, "a", "1", time.Minute); claim.State != godwit.ClaimStarted || err != nil {
			t.Errorf("the zero value: %v, %v", claim, err)
		}
		s := godwit.NewMemoryStore(2)
		begin := func(key, owner string, want godwit.ClaimState) {
			t.Helper()
			if got, err := s.Begin(ctx, key, owner, time.Minute); got.State != want || err != nil {
				t.Errorf("begin %s: %v, %v; want %v", key, got, err, want)
			}
		}
		begin("dies", "1", godwit.ClaimStarted)
		begin("dies", "2", godwit.ClaimBusy)
		time.Sleep(time.Minute)
		begin("dies", "2", godwit.ClaimStarted)
		_ = s.Abandon(ctx, "dies", "1") // its claim has ended
		begin("dies", "3", godwit.ClaimBusy)
		for _, key := range []string{"a", "b", "c"} {
			begin(key, "1", godwit.ClaimStarted)
			_ = s.Finish(ctx, key)
		}
		begin("c", "2", godwit.ClaimFinished)
		begin("a", "1", godwit.ClaimStarted) // forgotten
		_ = s.Abandon(ctx, "a", "1")
		begin("a", "2", godwit.ClaimStarted)
	})
}

func TestRouter(t *testing.T) {
	r, err := godwit.NewRouter(map[string]godwit.Handler{"known": func(context.Context,
		*godwit.Delivery,
	) error {
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(t.Context(), &godwit.Delivery{Type: "known"}); err != nil {
		t.Error(err)
	}
	if err := r.Serve(t.Context(), &godwit.Delivery{Type: "new"}); err == nil ||
		!strings.Contains(err.Error(), `"new"`) || !strings.Contains(err.Error(), "known") {
		t.Errorf("an unknown type: %v", err)
	}
	r.Otherwise(func(context.Context, *godwit.Delivery) error { return nil })
	if err := r.Serve(t.Context(), &godwit.Delivery{Type: "new"}); err != nil {
		t.Error(err)
	}
	if _, err := godwit.NewRouter(map[string]godwit.Handler{"x": nil}); !errors.Is(err, godwit.ErrInvalid) {
		t.Errorf("a nil handler: %v", err)
	}
}
