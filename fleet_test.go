package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// fleet runs assignments until stop is called, which returns RunAll's error.
func (w *world) fleet(o *godwit.FleetOptions, as ...godwit.Assignment) (stop func() error) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() { done <- godwit.RunAll(ctx, o, as...) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

// flood puts n messages into a queue without the cost of single sends.
func (w *world) flood(p *godwit.Producer, n int) {
	w.Helper()
	for range n / 1000 {
		w.send(p, many(1000, "flood")...)
	}
}

func TestAFloodedChannelDoesNotDelayAnother(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const work = time.Second
		flooded, quiet := w.consumer("flooded", nil), w.consumer("quiet", nil)
		w.flood(w.producer("flooded", nil), fullrun.Pick(10_000, 100_000))
		p := w.producer("quiet", nil)
		var slowest atomic.Int64
		handled := make(chan struct{})
		stop := w.fleet(&godwit.FleetOptions{Concurrency: 8},
			flooded.With(func(context.Context, *godwit.Delivery) error { time.Sleep(work); return nil }),
			quiet.With(func(_ context.Context, d *godwit.Delivery) error {
				if late := time.Since(d.SentAt); late > time.Duration(slowest.Load()) {
					slowest.Store(int64(late))
				}
				handled <- struct{}{}
				return nil
			}))
		for i := range 100 {
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
			w.send(p, body("fresh"))
			<-handled
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if late := time.Duration(slowest.Load()); late > work+100*time.Millisecond {
			t.Errorf("a fresh message waited %v, want at most one handler's %v and one poll", late, work)
		}
	})
}

func TestAConsumersConcurrencyIsItsLimitInAFleet(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var now, most [2]atomic.Int64
			handler := func(i int) godwit.Handler {
				return func(context.Context, *godwit.Delivery) error {
					if n := now[i].Add(1); n > most[i].Load() {
						most[i].Store(n)
					}
					time.Sleep(time.Second)
					now[i].Add(-1)
					return nil
				}
			}
			a := w.consumer("a", &godwit.ConsumerOptions{Concurrency: 3, Ordered: ordered})
			b := w.consumer("b", &godwit.ConsumerOptions{Concurrency: 50})
			pa := w.producer("a", &godwit.ProducerOptions{Ordered: ordered})
			for i := range 60 {
				w.send(pa, godwit.Message{Body: fmt.Appendf(nil, "%d", i), OrderKey: fmt.Sprint(i)})
			}
			w.send(w.producer("b", nil), many(60, "b")...)
			stop := w.fleet(&godwit.FleetOptions{Concurrency: 10}, a.With(handler(0)), b.With(handler(1)))
			time.Sleep(2 * time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if most[0].Load() != 3 || most[1].Load() > 10 || most[1].Load() < 7 {
				t.Errorf("at most %d and %d handlers, want 3 and up to 10", most[0].Load(), most[1].Load())
			}
			w.visible("a"+map[bool]string{true: ".fifo"}[ordered], 0)
			w.visible("b", 0)
		})
	}
}

func TestWeightsAndPriorities(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, assign func(a, b godwit.Assignment) (godwit.Assignment,
		godwit.Assignment),
	) (trail string) {
		inWorld(t, func(w *world) {
			a, b := w.consumer("a", nil), w.consumer("b", nil)
			w.send(w.producer("a", nil), many(12, "a")...)
			w.send(w.producer("b", nil), many(12, "b")...)
			note := func(name string) godwit.Handler {
				return func(context.Context, *godwit.Delivery) error {
					time.Sleep(time.Second)
					trail += name
					return nil
				}
			}
			x, y := assign(a.With(note("a")), b.With(note("b")))
			stop := w.fleet(&godwit.FleetOptions{Concurrency: 1}, x, y)
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		return trail
	}
	weighed := run(t, func(a, b godwit.Assignment) (godwit.Assignment, godwit.Assignment) { return a.Weight(3), b })
	if !strings.Contains(weighed, "aaabaaab") {
		t.Errorf("with weights 3 and 1: %s", weighed)
	}
	strict := run(t, func(a, b godwit.Assignment) (godwit.Assignment, godwit.Assignment) { return a, b.Priority(1) })
	if i := strings.LastIndex(strict, "b"); strings.Count(strict[:i], "a") > 3 { // a may run while b is received
		t.Errorf("with priority for b: %s", strict)
	}
	if even := run(t, func(a, b godwit.Assignment) (godwit.Assignment, godwit.Assignment) {
		return a,
			b
	}); !strings.Contains(even, "abababab") {
		t.Errorf("in turn: %s", even)
	}
}

func TestOneConsumersEndIsNotTheOthers(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprint("StopTogether ", together), func(t *testing.T) {
			inWorld(t, func(w *world) {
				a, b := w.consumer("a", nil), w.consumer("b", nil)
				p := w.producer("b", nil)
				w.send(w.producer("a", nil), body("x"))
				var n diary
				stop := w.fleet(&godwit.FleetOptions{StopTogether: together},
					a.With(func(context.Context, *godwit.Delivery) error { return godwit.Fatal(boom) }),
					b.With(func(_ context.Context, d *godwit.Delivery) error { n.note(d); return nil }))
				time.Sleep(time.Minute)
				if st, _ := a.State(); st != godwit.StateExited {
					t.Errorf("the failed consumer is %v", st)
				}
				w.send(p, body("y"))
				time.Sleep(time.Minute)
				if got := len(n.all()) == 1; got == together {
					t.Errorf("the other consumer handled %q", n.all())
				}
				if err := stop(); !errors.Is(err, boom) {
					t.Errorf("the fleet returned %v", err)
				}
			})
		})
	}
}

// A delivery that loses its lease while it waits for a worker takes no worker. Otherwise the consumer would start
// nothing any more.
func TestALeaseThatEndsInTheQueueOfAFleetCostsNoHandler(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c, other := w.consumer("a", &godwit.ConsumerOptions{Concurrency: 1, Lease: 6 * time.Second}),
			w.consumer("b", nil)
		w.send(w.producer("a", nil), many(8, "x")...)
		remove := w.server.Control("sqs.ChangeMessageVisibilityBatch",
			func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: &wire.Error{
					Code: "ServiceUnavailable", Message: "down", Status: 503,
					Fault: true,
				}}
			})
		var n diary
		stop := w.fleet(nil,
			c.With(func(_ context.Context, d *godwit.Delivery) error {
				if n.note(d); len(n.all()) == 1 {
					time.Sleep(10 * time.Second) // longer than the others may wait
				}
				return nil
			}),
			other.With(func(context.Context, *godwit.Delivery) error { return nil }))
		time.Sleep(8 * time.Second)
		remove()
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.visible("a", 0)
	})
}

func TestAFleetsMiddlewareIsOutermost(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var trail []string
		mark := func(name string) godwit.Middleware {
			return func(next godwit.Handler) godwit.Handler {
				return func(ctx context.Context, d *godwit.Delivery) error {
					trail = append(trail, name)
					return next(ctx, d)
				}
			}
		}
		c := w.consumer("a", &godwit.ConsumerOptions{Middleware: []godwit.Middleware{mark("own")}})
		w.send(w.producer("a", nil), body("x"))
		stop := w.fleet(&godwit.FleetOptions{Middleware: []godwit.Middleware{mark("fleet")}},
			c.With(func(context.Context, *godwit.Delivery) error { return nil }))
		time.Sleep(time.Minute)
		if err := stop(); err != nil || !slices.Equal(trail, []string{"fleet", "own"}) {
			t.Errorf("order of calls %q, %v", trail, err)
		}
	})
}

func TestInvalidFleets(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("a", nil)
		h := func(context.Context, *godwit.Delivery) error { return nil }
		for name, as := range map[string][]godwit.Assignment{
			"no consumers": nil, "no handler": {c.With(nil)}, "twice": {c.With(h), c.With(h)},
			"weight": {c.With(h).Weight(0)}, "zero": {{}},
		} {
			if err := godwit.RunAll(w.Context(), nil, as...); !errors.Is(err, godwit.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := godwit.RunAll(w.Context(), &godwit.FleetOptions{Concurrency: -1}, c.With(h)); !errors.Is(err,
			godwit.ErrInvalid) {
			t.Errorf("negative concurrency: %v", err)
		}
		if st, _ := c.State(); st != godwit.StateInitialized {
			t.Errorf("after invalid fleets the consumer is %v", st)
		}
	})
}
