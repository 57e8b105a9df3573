package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// stalling is a transport whose calls of one action of SQS, or of all actions if it is empty, stall while it is on.
type stalling struct {
	next   http.RoundTripper
	action string
	how    func(*http.Request) (*http.Response, error)
	on     atomic.Bool
}

func (s *stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.on.Load() && (s.action == "" || strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+s.action)) {
		return s.how(r)
	}
	return s.next.RoundTrip(r)
}

// stalls are the ways in which a service fails.
var stalls = map[string]func(*http.Request) (*http.Response, error){
	"hangs before the headers": func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	},
	"hangs in the body": func(r *http.Request) (*http.Response, error) {
		return answer(r, http.StatusOK, endless{r.Context()}), nil
	},
	"answers 500": func(r *http.Request) (*http.Response, error) {
		return answer(r, http.StatusInternalServerError, http.NoBody), nil
	},
	"throttles": func(r *http.Request) (*http.Response, error) {
		text := `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow down"}`
		return answer(r, http.StatusBadRequest, io.NopCloser(strings.NewReader(text))), nil
	},
}

func answer(r *http.Request, status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, Request: r}
}

// endless is a body without an end. As in net/http, reading ends with the request's context.
type endless struct{ ctx context.Context }

func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (endless) Close() error { return nil }

// stalledAt returns a backend for which one action stalls.
func (w *world) stalledAt(action, how string) (*snssqs.Backend, *stalling) {
	w.Helper()
	s := &stalling{next: w.server.Transport(), action: action, how: stalls[how]}
	conf := w.sdk()
	b, err := snssqs.Open(w.Context(), &snssqs.Options{AWS: &conf, Transport: s, CancelPolls: true})
	if err != nil {
		w.Fatal(err)
	}
	return b, s
}

// Whatever stalls, and in any way, health reports the stage within a minute, and is empty again afterwards.
func TestHealthReportsEveryStall(t *testing.T) {
	t.Parallel()
	done := func(context.Context, *godwit.Delivery) error { return nil }
	for stage, c := range map[string]struct {
		action, tells string
		handler       godwit.Handler
		stalled       func(w *world) // as soon as it stalls
	}{
		"poll":   {"ReceiveMessage", "receiving", done, nil},
		"delete": {"DeleteMessageBatch", "settling done deliveries", done, nil},
		"release": {
			"ChangeMessageVisibilityBatch", "settling releases",
			func(_ context.Context, d *godwit.Delivery) error { return d.Release() }, nil,
		},
		"change visibility": {
			"ChangeMessageVisibilityBatch", "settling retries",
			func(_ context.Context, d *godwit.Delivery) error { return d.Retry(time.Hour) }, nil,
		},
		"renewal": {
			"ChangeMessageVisibilityBatch", "renewing leases",
			func(ctx context.Context, _ *godwit.Delivery) error { <-ctx.Done(); return ctx.Err() }, nil,
		},
		"dead letter": {
			"SendMessageBatch", "settling rejects",
			func(context.Context, *godwit.Delivery) error { return godwit.Permanent(io.EOF) }, nil,
		},
		"provisioning again": {
			"CreateQueue", "provisioning", done,
			func(w *world) { w.deleteChannel("orders", false) },
		},
	} {
		for how := range stalls {
			t.Run(stage+" "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					b, s := w.stalledAt(c.action, how)
					consumer, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
					if err != nil {
						t.Fatal(err)
					}
					p := w.producer("orders", nil)
					var well atomic.Bool
					r := w.run(consumer, func(ctx context.Context, d *godwit.Delivery) error {
						if well.Load() {
							return nil
						}
						return c.handler(ctx, d)
					})
					time.Sleep(time.Minute)
					if h := consumer.Health(); len(h.Unhealthy) > 0 {
						t.Errorf("before: %q", h.Unhealthy)
					}
					s.on.Store(true)
					w.send(p, body("x"))
					if c.stalled != nil {
						c.stalled(w)
					}
					for begun := time.Now(); ; time.Sleep(time.Second) {
						if told := strings.Join(consumer.Health().Unhealthy, "\n"); strings.Contains(told, c.tells) {
							break
						} else if time.Since(begun) >= time.Minute {
							t.Errorf("after a minute health reports %q, want %s", told, c.tells)
							break
						}
					}
					s.on.Store(false)
					well.Store(true)
					time.Sleep(3 * time.Minute)
					if h := consumer.Health(); len(h.Unhealthy) > 0 {
						t.Errorf("afterwards: %q", h.Unhealthy)
					}
					r.stop()
				})
			})
		}
	}
}

func TestAProducersHealthReportsAStall(t *testing.T) {
	t.Parallel()
	for how := range stalls {
		t.Run(how, func(t *testing.T) {
			inWorld(t, func(w *world) {
				b, s := w.stalledAt("SendMessageBatch", how)
				p, err := godwit.NewProducer(w.Context(), b, "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				if h := p.Health(); !h.LastSend.IsZero() || len(h.Unhealthy) > 0 {
					t.Errorf("at first: %+v", h)
				}
				w.send(p, body("x"))
				before := p.Health()
				if before.LastSend.IsZero() || len(before.Unhealthy) > 0 {
					t.Errorf("before: %+v", before)
				}
				s.on.Store(true)
				for begun := time.Now(); time.Since(begun) < time.Minute; {
					_ = p.Send(w.Context(), body("x")) // fails after 20 s
				}
				if h := p.Health(); len(h.Unhealthy) == 0 || !strings.Contains(h.Unhealthy[0], "sending") ||
					h.LastSend != before.LastSend {
					t.Errorf("after a minute: %+v", h)
				}
				s.on.Store(false)
				time.Sleep(10 * time.Second) // until the circuit breaker probes again
				w.send(p, body("x"))
				if h := p.Health(); len(h.Unhealthy) > 0 || !h.LastSend.After(before.LastSend) {
					t.Errorf("afterwards: %+v", h)
				}
				if err := p.Close(w.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A few temporary failures do not make the consumer unhealthy, nor does a message that the service refuses.
func TestHealthIgnoresTemporaryFailures(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		b, s := w.stalledAt("DeleteMessageBatch", "throttles")
		consumer, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		p := w.producer("orders", nil)
		r := w.run(consumer, func(context.Context, *godwit.Delivery) error { return nil })
		for i := range 600 { // ten seconds of every minute
			s.on.Store(i%60 < 10)
			w.send(p, body(fmt.Sprint(i)))
			time.Sleep(time.Second)
			if h := consumer.Health(); len(h.Unhealthy) > 0 {
				t.Fatalf("after %d s: %q", i, h.Unhealthy)
			}
		}
		if err := p.Send(w.Context(), godwit.Message{Headers: large()}); err == nil ||
			len(p.Health().Unhealthy) > 0 {
			t.Errorf("a message that is too large: %v, %+v", err, p.Health())
		}
		r.stop()
	})
}

// Consumers whose handlers are busy, or which have few busy keys, are healthy: the messages behind others of their key
// take no places.
func TestBusyKeysAreHealthy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    godwit.ConsumerOptions
		keys int
	}{
		"two busy keys":    {godwit.ConsumerOptions{Ordered: true, ProcessingTimeout: 30 * time.Minute}, 2},
		"busy handlers":    {godwit.ConsumerOptions{Ordered: true, ProcessingTimeout: 30 * time.Minute}, 30},
		"without an order": {godwit.ConsumerOptions{ProcessingTimeout: 30 * time.Minute}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := c.o
				consumer := w.consumer("orders", &o)
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: o.Ordered})
				for i := range 60 {
					m := body(fmt.Sprint(i))
					if o.Ordered {
						// SQS delivers more messages of a key only when those before are settled
						m.OrderKey = fmt.Sprint(i / (60 / c.keys))
					}
					w.send(p, m)
				}
				r := w.run(consumer,
					func(ctx context.Context, _ *godwit.Delivery) error { <-ctx.Done(); return ctx.Err() })
				time.Sleep(110 * time.Second)
				if told := consumer.Health().Unhealthy; len(told) > 0 {
					t.Errorf("health reports %q", told)
				}
				r.stop()
			})
		})
	}
}

// A consumer whose deletes are denied for good says so as long as it lasts, also while few messages come.
func TestDeniedDeletesAreUnhealthy(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered})
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			denied := localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "not allowed to delete"}}
			stop := w.server.Control("sqs.DeleteMessageBatch",
				func(context.Context, *localaws.Request) localaws.Outcome { return denied })
			r := w.run(c, succeed)
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			for range 9 { // then the queue moves the message to the dead letters
				time.Sleep(time.Minute)
				if all := strings.Join(c.Health().Unhealthy, "; "); !strings.Contains(all, "sqs:DeleteMessage") {
					t.Errorf("ordered %v: unhealthy: %q", ordered, all)
				}
			}
			stop()
			time.Sleep(2 * time.Minute)
			if all := c.Health().Unhealthy; len(all) > 0 {
				t.Errorf("ordered %v: still unhealthy: %q", ordered, all)
			}
			r.stop()
		})
	}
}

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
