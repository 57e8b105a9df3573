package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
)

func TestHeldBytesAreBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const size, budget = 10_000, 100_000
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 100, MaxBytes: budget})
		p := w.producer("orders", nil)
		for range 50 {
			w.send(p, godwit.Message{Body: make([]byte, size)})
		}
		run := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(time.Minute); return nil })
		for range 20 {
			time.Sleep(10 * time.Second)
			held := 0
			for _, m := range w.messages("orders") {
				if m.State.String() == "in flight" {
					held++
				}
			}
			if held*size > budget+10*size {
				t.Errorf("%d bytes held, want at most %d and one receive", held*size, budget)
			}
		}
		time.Sleep(10 * time.Minute)
		if r := run.stop(); r.Handled != 50 {
			t.Errorf("handled %d, report %+v", r.Handled, r)
			for _, m := range w.messages("orders") {
				t.Logf("%s %s", m.ID, m.State)
			}
		}
	})
}

// The open polls of a fleet's idle consumers do not prevent others from polling, whatever they brought before.
func TestIdlePollsTakeNoBytes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		large := godwit.Message{Body: make([]byte, 600<<10)} // more than half of what the fleet may hold
		var late []time.Duration
		var as []godwit.Assignment
		var producers []*godwit.Producer
		for i := range 4 {
			name := fmt.Sprint("orders", i)
			producers = append(producers, w.producer(name, nil))
			as = append(as, w.consumer(name, nil).With(func(_ context.Context, d *godwit.Delivery) error {
				late = append(late, time.Since(d.SentAt))
				return nil
			}))
		}
		ctx, stop := context.WithCancel(w.Context())
		ended := make(chan error)
		go func() { ended <- godwit.RunAll(ctx, &godwit.FleetOptions{Concurrency: 1, MaxBytes: 1 << 20}, as...) }()
		for range 3 {
			for _, p := range producers {
				time.Sleep(time.Second)
				w.send(p, large)
			}
		}
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(late) != 12 || slices.Max(late) > time.Second {
			t.Errorf("messages were handled %v after they had been sent, want 12 within a second", late)
		}
	})
}

func TestReleasesAreNotAttempts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 2})
		w.send(w.producer("orders", nil), body("x"))
		var attempts []int
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			attempts = append(attempts, d.Attempt)
			if len(attempts) < 6 {
				_ = d.Release()
				continue
			}
			if len(attempts) == 6 {
				_ = d.Retry(time.Second)
				continue
			}
			_ = d.Done()
			break
		}
		w.close(c)
		if want := []int{1, 1, 1, 1, 1, 1, 2}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %v, want %v", attempts, want)
		}
	})
}

func TestAMessageIsHeldNoLongerThanTheServiceAllows(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Lease: time.Hour, ShutdownTimeout: time.Minute})
		w.send(w.producer("orders", nil), body("x"))
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(11 * time.Hour)
			if n := w.messages("orders"); n[0].State.String() != "in flight" {
				t.Errorf("after eleven hours it is %s", n[0].State)
			}
			time.Sleep(2 * time.Hour)
			if err := d.Done(); !errors.Is(err, godwit.ErrLeaseLost) {
				t.Errorf("done after thirteen hours: %v", err)
			}
			break
		}
		if r, _ := c.Close(w.Context()); r.LeaseLost == 0 || r.Handled != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestTheWatchdogNoticesAPollThatStalls(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		var handled atomic.Int32
		run := w.run(c, func(context.Context, *godwit.Delivery) error { handled.Add(1); return nil })
		remove := w.server.Control("sqs.ReceiveMessage", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: 24 * time.Hour}
		})
		time.Sleep(2 * time.Minute)
		if h := c.Health(); len(h.Unhealthy) == 0 {
			t.Errorf("polling hangs and health says %+v", h)
		}
		remove()
		w.send(w.producer("orders", nil), body("x"))
		time.Sleep(2 * time.Minute)
		if h := c.Health(); len(h.Unhealthy) > 0 || handled.Load() != 1 {
			t.Errorf("handled %d, health %+v", handled.Load(), h)
		}
		run.stop()
	})
}

func TestDuplicatesOfAnOrderedChannel(t *testing.T) {
	t.Parallel()
	for _, high := range []bool{false, true} {
		t.Run(fmt.Sprint("HighThroughput ", high), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, HighThroughput: high})
				var log strings.Builder
				p := w.producer("orders", &godwit.ProducerOptions{
					Ordered: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				same := func(key string) godwit.Message {
					return godwit.Message{Body: []byte("pay"), OrderKey: key, DedupID: "invoice 17"}
				}
				w.send(p, same("ada"), same("ada"), same("bob"))
				time.Sleep(6 * time.Minute)
				w.send(p, same("ada"))
				var n diary
				run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { n.note(d); return nil })
				time.Sleep(time.Minute)
				run.stop()
				want := map[bool]int{false: 2, true: 3}[high]
				if len(n.all()) != want {
					t.Errorf("delivered %d times, want %d", len(n.all()), want)
				}
				if r := p.Report(); r.Accepted != 4 || r.Duplicates != int64(4-want) ||
					strings.Count(log.String(), "a message was accepted and is not delivered") != 1 {
					t.Errorf("report %+v, log %q", r, log.String())
				}
			})
		})
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered, Delay: 10 * time.Minute})
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
				var n diary
				run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { n.note(d); return nil })
				begun := time.Now()
				w.send(p, body("by the channel's delay"))
				err := p.Send(w.Context(), godwit.Message{Body: []byte("by its own"), Delay: time.Minute})
				if ordered != (err != nil) {
					t.Errorf("a delay of a single message: %v", err)
				}
				time.Sleep(15 * time.Minute)
				run.stop()
				want := []time.Duration{10 * time.Minute}
				if !ordered {
					want = []time.Duration{time.Minute, 10 * time.Minute}
				}
				if len(n.when) != len(want) {
					t.Fatalf("handled %q", n.all())
				}
				for i := range want {
					if got := n.when[i].Sub(begun); got < want[i] || got > want[i]+time.Second {
						t.Errorf("%s was delivered after %v, want %v", n.bodies[i], got, want[i])
					}
				}
			})
		})
	}
}

func TestFanOutWithFilters(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		consumers := map[string]godwit.Filter{
			"wishlist_events.audit_log": {},
			"wishlist_events.mobile":    {Prefix: []string{"MOBILE."}},
			"wishlist_events.apple":     {Exact: []string{"MOBILE.APPLE"}},
			"wishlist_events.others":    {Exclude: []string{"MOBILE.APPLE"}},
		}
		notes := map[string]*diary{}
		var runs []*running
		for name, filter := range consumers {
			n := &diary{}
			notes[name] = n
			c := w.consumer(name, &godwit.ConsumerOptions{Ordered: true, Filter: filter})
			runs = append(runs, w.run(c, func(_ context.Context, d *godwit.Delivery) error { n.note(d); return nil }))
		}
		p := w.producer("wishlist_events.*", &godwit.ProducerOptions{Ordered: true})
		for _, key := range []string{"MOBILE.APPLE", "MOBILE.NOKIA", "BOOK", ""} {
			w.send(p, godwit.Message{Body: []byte("=" + key), RoutingKey: key})
		}
		time.Sleep(time.Minute)
		for _, r := range runs {
			r.stop()
		}
		for name, want := range map[string][]string{
			"wishlist_events.audit_log": {"=MOBILE.APPLE", "=MOBILE.NOKIA", "=BOOK", "="},
			"wishlist_events.mobile":    {"=MOBILE.APPLE", "=MOBILE.NOKIA"},
			"wishlist_events.apple":     {"=MOBILE.APPLE"},
			"wishlist_events.others":    {"=MOBILE.NOKIA", "=BOOK", "="},
		} {
			if got := notes[name].all(); !slices.Equal(got, want) {
				t.Errorf("%s got %q, want %q", name, got, want)
			}
		}
	})
}

// A renewal that is in flight when a handler fails does not replace the verdict's delay. (A poll that is answered at
// its very end leaves a third of the lease, so that the renewal and the verdict happen at the same time.)
func TestALongDelayIsNotOverwrittenByARenewal(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const delay = 11 * time.Hour
		c := w.consumer("orders", &godwit.ConsumerOptions{Backoff: godwit.Constant(delay), MaxAttempts: 5})
		w.send(w.producer("orders", nil), body("x"))
		var n diary
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { n.note(d); return errors.New("not yet") })
		time.Sleep(50 * time.Hour)
		run.stop()
		if len(n.when) != 5 {
			t.Fatalf("handled %d times in 50 hours", len(n.when))
		}
		for i := 1; i < len(n.when); i++ {
			if wait := n.when[i].Sub(n.when[i-1]); wait < delay || wait > delay+21*time.Second {
				t.Errorf("attempt %d started after %v, want %v", i+1, wait, delay)
			}
		}
	})
}
