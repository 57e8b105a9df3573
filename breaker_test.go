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
	"github.com/godwitmq/godwit/driver"
)

// A dependency of the handlers fails. After a few failures the consumer receives nothing except for a probe now and
// then. No message loses an attempt, the consumer releases its deliveries, and after the outage all messages are
// handled.
func TestABreakerSavesAttempts(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var up atomic.Bool
			var during atomic.Int64
			var told []string
			c := w.consumer("orders", &godwit.ConsumerOptions{
				Ordered: ordered, Concurrency: 4, BreakAfter: 2,
				MaxAttempts: 2, Backoff: godwit.Constant(time.Minute),
				Hooks: godwit.Hooks{Breaker: func(open bool, err error) {
					told = append(told,
						fmt.Sprint(open, " ", err))
				}},
			})
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			for i := range 100 {
				w.send(p, godwit.Message{OrderKey: fmt.Sprint("key ", i%20), Body: fmt.Append(nil, i)})
			}
			r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
				if d.Attempt > 2 {
					t.Errorf("attempt %d", d.Attempt)
				}
				if up.Load() {
					return nil
				}
				during.Add(1)
				return errors.New("the database is down")
			})
			time.Sleep(time.Hour)
			if n := during.Load(); n < 30 || n > 60 {
				t.Errorf("ordered %v: %d handlers ran in an hour's outage, want the first few and a probe every two minutes", ordered, n)
			}
			if h := c.Health(); len(h.Unhealthy) == 0 || !strings.Contains(h.Unhealthy[0], "the database is down") {
				t.Errorf("ordered %v: an open breaker makes the consumer unhealthy: %v", ordered, h.Unhealthy)
			}
			before := during.Load()
			up.Store(true)
			time.Sleep(20 * time.Minute)
			report := r.stop()
			if report.Handled != 100 || report.Rejected != 0 {
				t.Errorf("ordered %v: %+v; %d during", ordered, report, before)
			}
			if len(told) != 2 || told[0] != "true the database is down" || told[1] != "false <nil>" {
				t.Errorf("ordered %v: the hook got %q", ordered, told)
			}
		})
	}
}

// While the breaker is open, a consumer holds the deliveries that it uses as probes, and no others.
func TestAnOpenBreakerHoldsItsProbes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 30, BreakAfter: 1})
		w.send(w.producer("orders", nil), many(40, "")...)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return errors.New("down") })
		time.Sleep(10 * time.Minute)
		held := 0
		for _, m := range w.messages("orders") {
			if m.State.String() != "visible" {
				held++
			}
		}
		if held == 0 || held > 12 { // one may be exchanged at this moment
			t.Errorf("%d of 40 messages are held while the breaker is open", held)
		}
		r.stop()
		time.Sleep(3 * time.Minute)
		w.visible("orders", 40)
	})
}

// However long an outage lasts, and however often processes are replaced meanwhile, the service moves no message to the
// dead letters because of its receives, and each key keeps its order.
func TestALongOutageWithRestarts(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var up atomic.Bool
			var mu sync.Mutex
			var seen []string
			o := &godwit.ConsumerOptions{Ordered: ordered, Concurrency: 4, BreakAfter: 3}
			w.consumer("orders", o)
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			for i := range 12 {
				w.send(p, godwit.Message{OrderKey: fmt.Sprint("key ", i%3), Body: fmt.Append(nil, i)})
			}
			var sum godwit.Report
			for i := range 25 {
				up.Store(i == 24)
				r := w.run(w.consumer("orders", o), func(_ context.Context, d *godwit.Delivery) error {
					if !up.Load() {
						return errors.New("the database is down")
					}
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, string(d.Body))
					return nil
				})
				time.Sleep(30 * time.Minute)
				got := r.stop()
				sum.Handled, sum.Rejected, sum.Polls = sum.Handled+got.Handled, sum.Rejected+got.Rejected,
					sum.Polls+got.Polls
			}
			name := "orders--dlq"
			if ordered {
				name += ".fifo"
			}
			if dead := len(w.messages(name)); sum.Handled != 12 || sum.Rejected != 0 || dead != 0 {
				t.Errorf("ordered %v: %d handled, %d rejected, %d dead", ordered, sum.Handled, sum.Rejected, dead)
			}
			for key := range 3 {
				at := -1
				for n := key; n < 12; n += 3 {
					next := slices.Index(seen, fmt.Sprint(n))
					if ordered && next < at {
						t.Errorf("key %d was handled in the order of %v", key, seen)
					}
					at = next
				}
			}
		})
	}
}

// A message that always fails does not keep the breaker open: probes are exchanged.
func TestABadProbeDoesNotKeepTheBreakerOpen(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var up atomic.Bool
		var closed atomic.Pointer[time.Time]
		// With three attempts, the bad message alone would open the breaker again.
		o := &godwit.ConsumerOptions{Concurrency: 4, BreakAfter: 3, MaxAttempts: 2}
		o.Hooks.Breaker = func(open bool, _ error) {
			if now := time.Now(); !open {
				closed.CompareAndSwap(nil, &now)
			}
		}
		c := w.consumer("orders", o)
		w.send(w.producer("orders", nil), append([]godwit.Message{body("bad")}, many(11, "")...)...)
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if !up.Load() || string(d.Body) == "bad" {
				return errors.New("no")
			}
			return nil
		})
		time.Sleep(3 * time.Hour)
		up.Store(true)
		again := time.Now()
		time.Sleep(time.Hour)
		if at := closed.Load(); at == nil {
			t.Error("the breaker has not closed")
		} else if took := at.Sub(again); took < 0 || took > 4*time.Minute {
			t.Errorf("the breaker closed %v after the outage, want at most twice the longest pause", took)
		}
		if report := r.stop(); report.Handled != 11 || report.Rejected != 1 {
			t.Errorf("%+v", report)
		}
	})
}

// A hook may call any method of the consumer, also the hook Breaker.
func TestTheBreakersHookHoldsNoLock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var c *godwit.Consumer
		told := 0
		c = w.consumer("orders", &godwit.ConsumerOptions{BreakAfter: 1, Hooks: godwit.Hooks{Breaker: func(bool, error) {
			told++
			c.Pause()
			_ = c.Health()
			c.Resume()
		}}})
		w.send(w.producer("orders", nil), many(3, "")...)
		var up atomic.Bool
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			if !up.Load() {
				return errors.New("down")
			}
			return nil
		})
		time.Sleep(time.Minute)
		up.Store(true)
		time.Sleep(time.Hour)
		if got := r.stop(); told != 2 || got.Handled != 3 {
			t.Errorf("the hook was called %d times, %+v", told, got)
		}
	})
}

// Errors that are caused by the message do not open the breaker, and a success resets the count.
func TestWhatDoesNotBreak(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 1, BreakAfter: 2, MaxAttempts: 1,
			Hooks: godwit.Hooks{
				Breaker: func(bool, error) { t.Error("it opened") },
			},
		})
		w.send(w.producer("orders", nil), many(30, "")...)
		n := 0
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			switch n++; n % 3 {
			case 0:
				return errors.New("this one")
			case 1:
				return godwit.Permanent(errors.New("bad message"))
			}
			return nil
		})
		time.Sleep(time.Minute)
		if report := r.stop(); report.Handled != 10 || report.Rejected != 20 {
			t.Errorf("%+v", report)
		}
	})
}

// On a log the deliveries stay in the consumer: probes handle them one at a time, in order, and the rest follows after
// the first success.
func TestABreakerOnALog(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	var up atomic.Bool
	var during atomic.Int64
	onLog(t, l, &godwit.ConsumerOptions{
		Concurrency: 2, BreakAfter: 3, MaxAttempts: 2,
		Backoff: godwit.Constant(time.Minute),
	}, func(context.Context, *godwit.Delivery) error {
		if up.Load() {
			return nil
		}
		during.Add(1)
		return errors.New("down")
	}, func(c *godwit.Consumer) {
		up.Store(false)
		l.put(0, "a", "b", "c", "d", "e", "f", "a")
		rest(10 * time.Minute)
		want(t, l)
		if n := during.Load(); n > 15 {
			t.Errorf("%d handlers ran in ten minutes", n)
		}
		c.Pause()
		before := during.Load()
		rest(10 * time.Minute)
		if n := during.Load(); n != before {
			t.Errorf("%d probes in a pause", n-before)
		}
		c.Resume()
		up.Store(true)
		rest(10 * time.Minute)
		if n := len(l.answers()); n != 7 {
			t.Errorf("%d of 7 handled after the outage", n)
		}
	})
}
