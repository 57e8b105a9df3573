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
)

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
