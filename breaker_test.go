package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// An outage of what handlers depend on: after a few failures the consumer receives no more but for a probe now and
// then, no message loses its attempts, what it held is there for others, and after the outage all are handled.
func TestABreakerSavesAttempts(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			var up atomic.Bool
			var during atomic.Int64
			var told []string
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered, Concurrency: 4, BreakAfter: 2, MaxAttempts: 2, Backoff: godwit.Constant(time.Minute),
				Hooks: godwit.Hooks{Breaker: func(open bool, err error) { told = append(told, fmt.Sprint(open, " ", err)) }}})
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
				t.Errorf("ordered %v: an open breaker is no complaint: %v", ordered, h.Unhealthy)
			}
			before := during.Load()
			up.Store(true)
			time.Sleep(20 * time.Minute)
			report := r.stop()
			if report.Handled != 100 || report.Rejected != 0 {
				t.Errorf("ordered %v: %+v; %d during", ordered, report, before)
			}
			if len(told) != 2 || told[0] != "true the database is down" || told[1] != "false <nil>" {
				t.Errorf("ordered %v: told %q", ordered, told)
			}
		})
	}
}

// While it is open nothing is held that others could have.
func TestAnOpenBreakerHoldsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 1, BreakAfter: 1})
		w.send(w.producer("orders", nil), many(9, "")...)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return errors.New("down") })
		time.Sleep(2 * time.Second)
		held := 0
		for _, m := range w.messages("orders") {
			if m.State.String() != "visible" {
				held++
			}
		}
		if held > 1 { // the one that failed comes back when the next probe goes
			t.Errorf("%d of 9 messages are held while the breaker is open", held)
		}
		r.stop()
		time.Sleep(10 * time.Second)
		w.visible("orders", 9)
	})
}

// Errors that say that the message is at fault do not open it, and a success in between begins the count anew.
func TestWhatDoesNotBreak(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 1, BreakAfter: 2, MaxAttempts: 1, Hooks: godwit.Hooks{
			Breaker: func(bool, error) { t.Error("it opened") }}})
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

// On a log what is here stays here: probes take it one at a time, in order, and the rest follows when one succeeds.
func TestABreakerOnALog(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	var up atomic.Bool
	var during atomic.Int64
	onLog(t, l, &godwit.ConsumerOptions{Concurrency: 2, BreakAfter: 3, MaxAttempts: 2, Backoff: godwit.Constant(time.Minute)}, func(context.Context, *godwit.Delivery) error {
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
