package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
)

// sizes records the changes of a pool's size.
type sizes struct {
	mu   sync.Mutex
	seen []int
}

func (s *sizes) hook() func(from, to int) {
	return func(_, to int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, to)
	}
}

func (s *sizes) all() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.seen...)
}

// steady sends one message after each pause until the time is over.
func (w *world) steady(p *godwit.Producer, every, lasting time.Duration) {
	for end := time.Now().Add(lasting); time.Now().Before(end); time.Sleep(every) {
		w.send(p, body("work"))
	}
}

// More messages come than the pool can handle. It grows before the tolerance is reached, keeps the age of deliveries
// below it, and shrinks to its floor when there are fewer messages.
func TestThePoolGrowsWithTheDelayAndShrinks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const tolerance = time.Minute
		var changes sizes
		var oldest, now, most atomic.Int64
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 2, MaxConcurrency: 50, DelayTolerance: tolerance,
			Hooks: godwit.Hooks{Resized: changes.hook()},
		})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			oldest.Store(max(oldest.Load(), int64(time.Since(d.SentAt))))
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(2 * time.Second)
			now.Add(-1)
			return nil
		})
		lasts := fullrun.Pick(10*time.Minute, 30*time.Minute)
		w.steady(w.producer("orders", nil), 200*time.Millisecond, lasts) // enough for ten workers
		time.Sleep(10 * time.Minute)
		report := r.stop()
		seen := changes.all()
		if age := time.Duration(oldest.Load()); age > tolerance {
			t.Errorf("a delivery was %v old when it started, the tolerance is %v; sizes %v", age, tolerance, seen)
		}
		if len(seen) == 0 || seen[len(seen)-1] != 2 {
			t.Errorf("sizes %v: not back at its floor", seen)
		}
		if most.Load() > 40 || len(seen) > 60 {
			t.Errorf("up to %d handlers where ten are enough; sizes %v", most.Load(), seen)
		}
		if report.Handled != int64(lasts/(200*time.Millisecond)) {
			t.Errorf("%+v", report)
		}
	})
}

// A dependency with a limited rate becomes slower with more workers: the pool does not stay at its ceiling.
func TestThePoolBacksOffWhenMoreMakesItWorse(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var now atomic.Int64
		var handlers, looks int64
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 4, MaxConcurrency: 500,
			DelayTolerance: time.Minute,
		})
		p := w.producer("orders", nil)
		w.flood(p, 5000)
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			n := now.Add(1)
			time.Sleep(time.Duration(n) * 250 * time.Millisecond) // four a second, with any number of callers
			now.Add(-1)
			return nil
		})
		for range 15 * 60 {
			time.Sleep(time.Second)
			handlers += now.Load()
			looks++
		}
		r.stop()
		if mean := handlers / looks; mean > 30 {
			t.Errorf("%d handlers on average, of at most 100, where four are as fast", mean)
		}
	})
}

// The delay of a channel is not part of the age: the pool does not grow because of it, neither by the age of starting
// deliveries nor by that of waiting ones.
func TestTheDelayOfAChannelIsNotHeldAgainstThePool(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]time.Duration{ // the pool is checked every five seconds
		"between two starts": 11 * time.Second, "at every start": 3 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var changes sizes
				c := w.consumer("orders", &godwit.ConsumerOptions{
					Delay: 10 * time.Minute, Concurrency: 1,
					MaxConcurrency: 20,
					DelayTolerance: 5 * time.Minute, Hooks: godwit.Hooks{Resized: changes.hook()},
				})
				w.send(w.producer("orders", nil), many(6, "")...)
				run := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(handler); return nil })
				time.Sleep(15 * time.Minute)
				if r := run.stop(); r.Handled != 6 || len(changes.all()) != 0 {
					t.Errorf("sizes %v for messages that wait for less than a minute beyond their channel's delay; %+v",
						changes.all(), r)
				}
			})
		})
	}
}

// Without MaxConcurrency the pool does not change, however old deliveries are.
func TestNoAdaptationUnlessAskedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var changes sizes
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 2, DelayTolerance: time.Second,
			Hooks: godwit.Hooks{Resized: changes.hook()},
		})
		w.send(w.producer("orders", nil), many(100, "")...)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(5 * time.Second); return nil })
		time.Sleep(10 * time.Minute)
		if report := r.stop(); report.Handled != 100 || len(changes.all()) != 0 {
			t.Errorf("%+v, sizes %v", report, changes.all())
		}
	})
}

// A pool without MaxConcurrency stays as small as SetConcurrency makes it, however many deliveries wait.
func TestNoAdaptationAboveALowerConcurrency(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var changes sizes
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 5, DelayTolerance: 5 * time.Second,
			Hooks: godwit.Hooks{Resized: changes.hook()},
		})
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		if err := c.SetConcurrency(1); err != nil {
			t.Fatal(err)
		}
		w.steady(w.producer("orders", nil), time.Second, 5*time.Minute)
		r.stop()
		if seen := changes.all(); len(seen) > 0 {
			t.Errorf("the pool's sizes were %v, want 1 all the time", seen)
		}
	})
}

// A large known backlog is handled within the tolerance, if the ceiling allows it: the pool grows because of the
// backlog's size, before its age is too high.
func TestThePoolGrowsWithAKnownBacklog(t *testing.T) {
	t.Parallel()
	for _, n := range []int{500, 1000, 6000} {
		inWorld(t, func(w *world) {
			const tolerance = time.Minute
			var oldest, now, most atomic.Int64
			c := w.consumer("orders", &godwit.ConsumerOptions{
				Concurrency: 4, MaxConcurrency: 500,
				DelayTolerance: tolerance,
			})
			w.send(w.producer("orders", nil), many(n, "")...)
			before := w.calls("sqs.GetQueueAttributes")
			r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
				oldest.Store(max(oldest.Load(), int64(time.Since(d.SentAt))))
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			})
			time.Sleep(10 * time.Minute)
			r.stop()
			if age := time.Duration(oldest.Load()); age > tolerance {
				t.Errorf("%d messages: one was %v old when it started, the tolerance is %v", n, age, tolerance)
			}
			if looks := w.calls("sqs.GetQueueAttributes") - before; looks > 6 {
				t.Errorf("%d messages: the size of the backlog was requested %d times", n, looks)
			}
			t.Logf("%d messages: oldest %v, most %d", n, time.Duration(oldest.Load()), most.Load())
		})
	}
}

// When no message comes, waits or is in flight, the demand becomes zero within minutes.
func TestDemandFallsToZero(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 10})
		p := w.producer("orders", nil)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(3 * time.Second); return nil })
		w.steady(p, 300*time.Millisecond, 10*time.Minute)
		demand := func() godwit.Demand {
			d, err := c.Demand(w.Context())
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := demand(); d.Workers < 9 || d.Workers > 12 || d.Consumers == 0 {
			t.Errorf("while ten workers' work comes: %+v", d)
		}
		for range 5 * 60 { // frequent calls get the same result
			time.Sleep(time.Second)
			demand()
		}
		if d := demand(); d.Workers != 0 || d.Consumers != 0 || d.Age != 0 {
			t.Errorf("five minutes after the last message: %+v", d)
		}
		w.send(p, body("one more"))
		time.Sleep(time.Second)
		if d := demand(); d.Consumers != 1 {
			t.Errorf("while one is handled: %+v", d)
		}
		time.Sleep(24 * time.Hour)
		if d := demand(); d.Workers != 0 || d.Consumers != 0 || d.Age != 0 {
			t.Errorf("a day after: %+v", d)
		}
		r.stop()
	})
}

// The age of a message does not include its own delay or the channel's.
func TestADelayIsNoAge(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var changes sizes
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 2, MaxConcurrency: 50,
			DelayTolerance: 30 * time.Second,
			Delay:          time.Minute, Hooks: godwit.Hooks{Resized: changes.hook()},
		})
		p := w.producer("orders", nil)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(time.Second); return nil })
		for i := range 120 {
			m := body("later")
			if i%2 == 0 {
				m.Delay = 10 * time.Minute
			}
			w.send(p, m)
			time.Sleep(time.Second)
		}
		for range 15 * 60 {
			time.Sleep(time.Second)
			if d, err := c.Demand(w.Context()); err != nil || d.Age > 5*time.Second {
				t.Fatalf("%+v, %v", d, err)
			}
		}
		if report := r.stop(); report.Handled != 120 || len(changes.all()) > 0 {
			t.Errorf("%+v, sizes %v", report, changes.all())
		}
	})
}

// Demand is the backlog times the duration of a handler, divided by the rest of the tolerance.
func TestDemand(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 10, MaxConcurrency: 20})
		p := w.producer("orders", nil)
		demand := func() godwit.Demand {
			d, err := c.Demand(w.Context())
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := demand(); d.Backlog != 0 || d.Workers != 0 || d.Consumers != 0 {
			t.Errorf("of an empty channel: %+v", d)
		}
		busy := make(chan struct{})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if d.OrderKey+d.Tenant == "stay" {
				<-busy
			}
			time.Sleep(3 * time.Second)
			return nil
		})
		w.send(p, many(50, "")...)
		time.Sleep(time.Minute)
		w.send(p, many(2420, "stay")...)
		time.Sleep(10 * time.Second)
		d := demand()
		// 2,400 × 3 s in two minutes are 60 workers; because the oldest messages have waited for some seconds, it is a
		// few more.
		if d.Backlog < 2390 || d.Backlog > 2420 || d.Service != 3*time.Second || d.Workers < 60 || d.Workers > 80 ||
			d.Consumers != (d.Workers+19)/20 {
			t.Errorf("%+v", d)
		}
		close(busy)
		r.stop()
	})
}

// One consumer at least is wanted while anything waits, however fast its handlers are.
func TestDemandWhileAnythingWaits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 10, MaxConcurrency: 20})
		p := w.producer("orders", nil)
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			time.Sleep(time.Millisecond)
			return nil
		})
		for range 60 {
			w.send(p, many(5, "")...)
			time.Sleep(time.Second)
		}
		c.Pause()
		time.Sleep(20 * time.Minute) // nothing comes any more
		w.send(p, many(3, "")...)
		if d, err := c.Demand(w.Context()); err != nil || d.Backlog != 3 || d.Workers != 1 || d.Consumers != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		c.Resume()
		r.stop()
	})
}

func TestToleranceOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for i, o := range []godwit.ConsumerOptions{
			{Concurrency: 10, MaxConcurrency: 5},
			{DelayTolerance: -time.Second},
			{BreakAfter: -1},
		} {
			if _, err := godwit.NewConsumer(w.Context(), w.backend, fmt.Sprint("orders", i), &o); !errors.Is(err,
				godwit.ErrInvalid) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	})
}
