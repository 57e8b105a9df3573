package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
)

// Messages that come one by one share sends and polls, within the tolerated delay.
func TestRequestsAreSaved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const tolerance, linger = time.Minute, 200 * time.Millisecond
		p := w.producer("orders", &godwit.ProducerOptions{Linger: linger})
		w.latency(5 * time.Millisecond)
		c := w.consumer("orders", &godwit.ConsumerOptions{SaveRequests: true, DelayTolerance: tolerance})
		var oldest atomic.Int64
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			oldest.Store(max(oldest.Load(), int64(time.Since(d.SentAt))))
			return nil
		})
		before := w.queueCalls() + w.calls("sqs.SendMessage", "sqs.SendMessageBatch")
		const n = 3000
		results := make([]*godwit.Result, n)
		for i := range results {
			var err error
			if results[i], err = p.SendAsync(w.Context(), body("work")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		for _, one := range results {
			if err := one.Wait(w.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(tolerance / 20)
		calls := w.queueCalls() + w.calls("sqs.SendMessage", "sqs.SendMessageBatch") - before
		if share := float64(calls) / n; share > 0.4 {
			t.Errorf("%.2f requests a message", share)
		}
		if age := time.Duration(oldest.Load()); age > tolerance/20+linger {
			t.Errorf("a message was %v old when it started", age)
		}
		idle := w.queueCalls()
		time.Sleep(time.Hour)
		if calls := w.queueCalls() - idle; calls > 182 {
			t.Errorf("%d requests in an idle hour", calls)
		}
		if report := r.stop(); report.Handled != n {
			t.Errorf("report %+v", report)
		}
	})
}

// A backlog is handled as fast as without pauses, and there are no pauses for messages that are already old.
func TestNoPausesForOldMessages(t *testing.T) {
	t.Parallel()
	took := map[bool]time.Duration{}
	for _, save := range []bool{false, true} {
		inWorld(t, func(w *world) {
			const n = 1000
			w.send(w.producer("orders", nil), many(n, "")...)
			time.Sleep(30 * time.Second)
			began, done := time.Now(), make(chan struct{})
			var handled atomic.Int64
			c := w.consumer("orders", &godwit.ConsumerOptions{
				SaveRequests: save, DelayTolerance: time.Minute,
				BatchSize: 3,
			})
			r := w.run(c, func(context.Context, *godwit.Delivery) error {
				if time.Sleep(20 * time.Millisecond); handled.Add(1) == n {
					close(done)
				}
				return nil
			})
			<-done
			took[save] = time.Since(began)
			r.stop()
		})
	}
	if took[true] > took[false]*11/10 {
		t.Errorf("a backlog takes %v, and %v without pauses", took[true], took[false])
	}
}

// deletes is the number of requests that delete messages.
func (w *world) deletes() int { return w.calls("sqs.DeleteMessage", "sqs.DeleteMessageBatch") }

// Messages that come one by one share deletes, unless the consumer deletes at once.
func TestHandledMessagesWaitForOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		linger      time.Duration
		least, most float64 // deletes a message
	}{{0, 0.05, 0.15}, {-1, 0.5, 1}} {
		t.Run(fmt.Sprint(c.linger), func(t *testing.T) {
			inWorld(t, func(w *world) {
				p := w.producer("orders", nil)
				w.latency(5 * time.Millisecond)
				r := w.run(w.consumer("orders", &godwit.ConsumerOptions{SettleLinger: c.linger}),
					func(context.Context, *godwit.Delivery) error { return nil })
				before := w.deletes()
				w.steady(p, 10*time.Millisecond, 20*time.Second)
				report := r.stop()
				share := float64(w.deletes()-before) / float64(report.Handled)
				if report.Handled < 1300 || share < c.least || share > c.most {
					t.Errorf("%d messages handled, %.2f deletes each; want %.2f to %.2f", report.Handled, share,
						c.least, c.most)
				}
			})
		})
	}
}

// SQS delivers the next messages of a key only when it has the settlements of those before, so the last of them does
// not wait.
func TestTheLastOfAKeyDoesNotWait(t *testing.T) {
	t.Parallel()
	took := map[time.Duration]time.Duration{}
	for _, linger := range []time.Duration{0, -1} {
		inWorld(t, func(w *world) {
			const n = 500
			w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(n, "one")...)
			w.latency(15 * time.Millisecond)
			before, began, done := w.deletes(), time.Now(), make(chan struct{})
			var handled atomic.Int64
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, SettleLinger: linger})
			r := w.run(c, func(context.Context, *godwit.Delivery) error {
				time.Sleep(time.Millisecond)
				if handled.Add(1) == n {
					close(done)
				}
				return nil
			})
			<-done
			took[linger] = time.Since(began)
			r.stop()
			if share := float64(w.deletes()-before) / n; linger == 0 && share > 0.12 {
				t.Errorf("%.2f deletes a message", share)
			}
		})
	}
	if took[0] > took[-1]*11/10 {
		t.Errorf("one key takes %v, and %v without the wait", took[0], took[-1])
	}
}

// A stop does not wait for other settlements, nor do deliveries that are handled during the stop.
func TestAStopDeletesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(3, "")...)
		began := make(chan struct{}, 3)
		c := w.consumer("orders", &godwit.ConsumerOptions{SettleLinger: 3 * time.Second})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if began <- struct{}{}; string(d.Body) == " 2" {
				time.Sleep(time.Second)
			}
			return nil
		})
		for range cap(began) {
			<-began
		}
		time.Sleep(500 * time.Millisecond)
		if got := w.deletes(); got != 0 {
			t.Errorf("%d deletes before the stop", got)
		}
		stopped := time.Now()
		report := r.stop()
		if took := time.Since(stopped); took > 600*time.Millisecond || report.Handled != 3 ||
			len(w.messages("orders")) != 0 {
			t.Errorf("after %v: %+v", took, report)
		}
	})
}

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
				w.send(p, godwit.Message{Body: []byte("by its own"), Delay: time.Minute})
				w.send(p, godwit.Message{Body: []byte("by its own, for longer"), Delay: time.Hour})
				time.Sleep(70 * time.Minute)
				run.stop()
				want := []time.Duration{time.Minute, 10 * time.Minute, time.Hour}
				if ordered {
					want[0] = 10 * time.Minute // SQS delays each message of a FIFO queue for the queue's time
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

// starts records when handlers start.
type starts struct {
	mu sync.Mutex
	at map[string][]time.Time // by tenant, and all of them under ""
}

func (s *starts) handler(err error) godwit.Handler {
	return func(_ context.Context, d *godwit.Delivery) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.at == nil {
			s.at = map[string][]time.Time{}
		}
		s.at[""] = append(s.at[""], time.Now())
		if d.Tenant != "" {
			s.at[d.Tenant] = append(s.at[d.Tenant], time.Now())
		}
		return err
	}
}

func (s *starts) of(key string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at[key])
}

// most is the largest number of starts within a time.
func most(at []time.Time, within time.Duration) (n int) {
	for i := range at {
		j := i
		for j < len(at) && at[j].Sub(at[i]) < within {
			j++
		}
		n = max(n, j-i)
	}
	return n
}

// hidden is how many messages consumers hold.
func (w *world) hidden(queue string) (n int) {
	for _, m := range w.messages(queue) {
		if m.State.String() == "in flight" {
			n++
		}
	}
	return n
}

// No more messages start than the rate allows, no others are received than those of half a second, and the rate is used
// up.
func TestRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(1000, "")...)
		c := w.consumer("orders", &godwit.ConsumerOptions{Rate: godwit.Rate{Events: 20, Burst: 5}})
		before := w.queueCalls()
		var s starts
		r := w.run(c, s.handler(nil))
		for range 20 {
			time.Sleep(time.Second)
			if n := w.hidden("orders"); n > 20 { // also handled ones that wait for others to be deleted with them
				t.Errorf("%d messages are hidden", n)
			}
		}
		at := s.of("")
		if n := len(at); n < 390 || n > 406 {
			t.Errorf("%d started in 20 s", n)
		}
		if n := most(at, time.Second); n > 25 {
			t.Errorf("%d started within a second", n)
		}
		if calls := w.queueCalls() - before; calls > len(at)/2 {
			t.Errorf("%d requests for %d messages", calls, len(at))
		}
		if report := r.stop(); report.Released > 10 || report.Handled+report.Released != report.Received {
			t.Errorf("report %+v", report)
		}
	})
}

// A retry counts for the rate.
func TestRetriesCountForTheRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(50, "")...)
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Rate: godwit.Rate{Events: 10, Burst: 2}, MaxAttempts: 5, Backoff: godwit.Constant(time.Millisecond),
		})
		var s starts
		r := w.run(c, s.handler(errors.New("not yet")))
		time.Sleep(time.Minute)
		r.stop()
		if n := most(s.of(""), 10*time.Second); n > 102 {
			t.Errorf("%d started within 10 s", n)
		}
		if n := len(s.of("")); n != 250 {
			t.Errorf("%d started in all", n)
		}
	})
}

// A new rate takes effect at once. A consumer with a very low rate is healthy.
func TestSetRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.send(p, many(100, "")...)
		c := w.consumer("orders", &godwit.ConsumerOptions{Rate: godwit.Rate{Events: 1, Per: time.Hour}})
		var s starts
		r := w.run(c, s.handler(nil))
		time.Sleep(10 * time.Minute)
		if n := len(s.of("")); n != 1 {
			t.Errorf("%d started at one an hour", n)
		}
		if h := c.Health(); len(h.Unhealthy) > 0 {
			t.Errorf("health %+v", h)
		}
		for _, one := range []struct {
			rate godwit.Rate
			want int
		}{{godwit.Rate{Events: 5}, 51}, {godwit.Rate{}, 100}} {
			if err := c.SetRate(one.rate); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if n := len(s.of("")); n < one.want-4 || n > one.want+5 {
				t.Errorf("%d started after 10 s with %v, want %d", n, one.rate, one.want)
			}
		}
		r.stop()
	})
}

// A tenant's flood starts at the tenant's rate, and delays no other tenant.
func TestTenantRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.send(p, many(600, "loud")...)
		w.send(p, many(20, "quiet")...)
		c := w.consumer("orders", &godwit.ConsumerOptions{TenantRate: godwit.Rate{Events: 10, Burst: 10}})
		var s starts
		began := time.Now()
		before := w.calls("sqs.ReceiveMessage")
		r := w.run(c, s.handler(nil))
		time.Sleep(3 * time.Minute)
		loud, quiet := s.of("loud"), s.of("quiet")
		if len(loud) != 600 || len(quiet) != 20 {
			t.Fatalf("%d and %d started", len(loud), len(quiet))
		}
		if n := most(loud, 10*time.Second); n > 110 {
			t.Errorf("%d of the loud tenant started within 10 s", n)
		}
		if took := loud[599].Sub(began); took > 80*time.Second {
			t.Errorf("the loud tenant took %v at ten a second", took)
		}
		if took := quiet[19].Sub(began); took > 5*time.Second {
			t.Errorf("the quiet tenant took %v", took)
		}
		t.Logf("%d receives, %v, %v", w.calls("sqs.ReceiveMessage")-before, loud[599].Sub(began), quiet[19].Sub(began))
		if err := c.SetTenantRate(godwit.Rate{}); err != nil {
			t.Fatal(err)
		}
		w.send(p, many(100, "loud")...)
		time.Sleep(time.Second)
		if n := len(s.of("loud")); n != 700 {
			t.Errorf("%d started without a rate, want 700", n)
		}
		if report := r.stop(); report.Handled != 720 || report.Unsettled+report.LeaseLost > 0 {
			t.Errorf("report %+v", report)
		}
	})
}

// A stop releases the deliveries that wait for their tenant's rate, and no attempt is counted.
func TestAStopReleasesDeliveriesThatWaitForTheirRate(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(30, "one")...)
		o := &godwit.ConsumerOptions{TenantRate: godwit.Rate{Events: 1}}
		var s starts
		r := w.run(w.consumer("orders", o), s.handler(nil))
		time.Sleep(5 * time.Second)
		report := r.stop()
		n := len(s.of(""))
		if n < 5 || n > 7 || int(report.Handled) != n || report.Released == 0 {
			t.Errorf("%d started, report %+v", n, report)
		}
		time.Sleep(2 * time.Minute) // the longest time of a release
		again := w.run(w.consumer("orders", nil), func(_ context.Context, d *godwit.Delivery) error {
			if d.Attempt != 1 && d.Failures != 0 {
				t.Errorf("attempt %d", d.Attempt)
			}
			return nil
		})
		time.Sleep(time.Second)
		if rest := again.stop(); rest.Handled != int64(30-n) {
			t.Errorf("then %+v", rest)
		}
	})
}

func TestRatesThatCannotBe(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, c := range []struct {
			o    godwit.ConsumerOptions
			says string
		}{
			{godwit.ConsumerOptions{Rate: godwit.Rate{Per: time.Second}}, "set Events"},
			{godwit.ConsumerOptions{Rate: godwit.Rate{Events: -1}}, "Rate.Events is -1"},
			{godwit.ConsumerOptions{Rate: godwit.Rate{Events: 10, Burst: -1}}, "Rate.Burst is -1"},
			{godwit.ConsumerOptions{Rate: godwit.Rate{Events: 10, Per: 25 * time.Hour}}, "Rate.Per is 25h0m0s"},
			{godwit.ConsumerOptions{Rate: godwit.Rate{Events: 10, Per: time.Microsecond}}, "one event each"},
			{godwit.ConsumerOptions{Ordered: true, TenantRate: godwit.Rate{Events: 10}}, "is not a tenant"},
		} {
			_, err := godwit.NewConsumer(w.Context(), w.backend, "orders", &c.o)
			if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v", c.o.Rate, err)
			}
		}
		c := w.consumer("orders", nil)
		if err := c.SetRate(godwit.Rate{Burst: 3}); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("SetRate: %v", err)
		}
	})
}

// Many tenants over their rates cost little more than one receive a message: their messages are held, as far as there
// is room, and what is released comes back when the rate says so.
func TestManyTenantsOverTheirRates(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const tenants, each = 100, 100
		p := w.producer("orders", nil)
		for range each {
			var ms []godwit.Message
			for n := range tenants {
				ms = append(ms, godwit.Message{Body: []byte("x"), OrderKey: fmt.Sprint("tenant ", n)})
			}
			w.send(p, ms...)
		}
		w.latency(20 * time.Millisecond)
		c := w.consumer("orders", &godwit.ConsumerOptions{TenantRate: godwit.Rate{Events: 5}, Concurrency: 64})
		var handled atomic.Int32
		began := time.Now()
		var took time.Duration
		before := w.calls("sqs.ReceiveMessage", "sqs.DeleteMessageBatch", "sqs.ChangeMessageVisibilityBatch")
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			if handled.Add(1) == tenants*each {
				took = time.Since(began)
			}
			return nil
		})
		time.Sleep(2 * time.Minute)
		calls := w.calls("sqs.ReceiveMessage", "sqs.DeleteMessageBatch", "sqs.ChangeMessageVisibilityBatch") - before
		report := r.stop()
		t.Logf("%d handled in %v, %d received, %d released, %.3f requests a message", handled.Load(), took,
			report.Received, report.Released, float64(calls)/tenants/each)
		if handled.Load() != tenants*each || report.Received > 13_000 || calls > 3000 || took > 25*time.Second {
			t.Error("more messages were received than the rates need, or fewer started")
		}
	})
}

// By default, hardly more messages start in the busiest second than the rate says.
func TestTheDefaultBurstIsSmall(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.send(w.producer("orders", nil), many(5000, "")...)
		c := w.consumer("orders", &godwit.ConsumerOptions{Rate: godwit.Rate{Events: 1000}, Concurrency: 100})
		var s starts
		r := w.run(c, s.handler(nil))
		time.Sleep(10 * time.Second)
		r.stop()
		at := s.of("")
		if n := most(at, time.Second); len(at) != 5000 || n > 1101 {
			t.Errorf("%d started, %d of them in the busiest second", len(at), n)
		}
	})
}
