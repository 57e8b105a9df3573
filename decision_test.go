package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// What a handler decides by a method of its delivery is known to everything that asks what it decided.

// byMethod is how a handler decides without an error.
var byMethod = map[string]func(d *godwit.Delivery) error{
	"retry":   func(d *godwit.Delivery) error { return d.Retry(time.Second) },
	"release": (*godwit.Delivery).Release,
	"reject":  func(d *godwit.Delivery) error { return d.Reject(errors.New("not today")) },
}

// Idempotent finishes the key of a message only when it is done, and not when its handler sends it back.
func TestIdempotentKnowsSettlementsByMethod(t *testing.T) {
	for name, sendBack := range byMethod {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				store := godwit.NewMemoryStore(0)
				c := w.consumer("orders", &godwit.ConsumerOptions{Middleware: []godwit.Middleware{
					godwit.Idempotent(store, func(*godwit.Delivery) string { return "17" }, time.Hour),
				}})
				w.send(w.producer("orders", nil), body("x"))
				starts := 0
				run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
					if starts++; starts == 1 {
						return sendBack(d)
					}
					return d.Done()
				})
				time.Sleep(5 * time.Minute)
				r := run.stop()
				claim, _ := store.Begin(t.Context(), "orders/17", "test", 0)
				switch finished := claim.State == godwit.ClaimFinished; {
				case name == "reject" && (starts != 1 || r.Rejected != 1 || finished):
					t.Errorf("%d starts, finished %v, report %+v; want one start, a dead letter, and no finished key", starts, finished, r)
				case name != "reject" && (starts != 2 || r.Handled != 1 || !finished):
					t.Errorf("%d starts, finished %v, report %+v; want two starts and a finished key", starts, finished, r)
				}
			})
		})
	}
}

// A handler that says that the message is done finishes the key, whatever it returns then.
func TestIdempotentFinishesWhatIsDone(t *testing.T) {
	inWorld(t, func(w *world) {
		store := godwit.NewMemoryStore(0)
		c := w.consumer("orders", &godwit.ConsumerOptions{Middleware: []godwit.Middleware{
			godwit.Idempotent(store, func(*godwit.Delivery) string { return "17" }, time.Hour),
		}})
		w.send(w.producer("orders", nil), body("x"), body("x"))
		var starts atomic.Int32
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			starts.Add(1)
			return errors.Join(d.Done(), errors.New("the greeting could not be sent"))
		})
		time.Sleep(5 * time.Minute)
		if r := run.stop(); starts.Load() != 1 || r.Handled != 2 {
			t.Errorf("%d starts, report %+v", starts.Load(), r)
		}
	})
}

// An open breaker closes when a handler settles its message as done by the method.
func TestABreakerClosesBySettlementsByMethod(t *testing.T) {
	inWorld(t, func(w *world) {
		var up atomic.Bool
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 4, BreakAfter: 5})
		w.send(w.producer("orders", nil), many(200, "x")...)
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if !up.Load() {
				return errors.New("the database is down")
			}
			return d.Done()
		})
		time.Sleep(time.Minute)
		if h := c.Health(); len(h.Unhealthy) == 0 {
			t.Error("the breaker is not open")
		}
		up.Store(true)
		time.Sleep(time.Hour)
		if h := c.Health(); len(h.Unhealthy) != 0 {
			t.Errorf("unhealthy: %q", h.Unhealthy)
		}
		if r := run.stop(); r.Handled != 200 {
			t.Errorf("report %+v", r)
		}
	})
}

// A handler settles its message by a method, and then does not return. Its settlement counts, at its timeout and at a
// stop, with and without order, for one message and for a batch.
func TestASettlementOfAHandlerThatDoesNotReturn(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, batch := range []bool{false, true} {
			for _, end := range []string{"timeout", "stop"} {
				t.Run(fmt.Sprintf("ordered %v, batch %v, %s", ordered, batch, end), func(t *testing.T) {
					inWorld(t, func(w *world) {
						o := &godwit.ConsumerOptions{Ordered: ordered, ProcessingTimeout: time.Minute}
						if end == "stop" {
							o.ProcessingTimeout = 20 * time.Minute
						}
						c := w.consumer("orders", o)
						w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), body("x"))
						hang := make(chan struct{})
						ctx, cancel := context.WithCancel(w.Context())
						done := make(chan godwit.Report)
						go func() {
							var r godwit.Report
							var err error
							if batch {
								r, err = c.RunBatches(ctx, func(_ context.Context, ds []*godwit.Delivery) error {
									defer func() { <-hang }()
									return ds[0].Done()
								}, nil)
							} else {
								r, err = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
									defer func() { <-hang }()
									return d.Done()
								})
							}
							if err != nil {
								t.Error(err)
							}
							done <- r
						}()
						time.Sleep(5 * time.Minute)
						cancel()
						r := <-done
						close(hang)
						if r.Handled != 1 || r.Rejected != 0 || r.Released != 0 {
							t.Errorf("report %+v", r)
						}
						suffix := ""
						if ordered {
							suffix = ".fifo"
						}
						if left := len(w.messages("orders" + suffix)); left != 0 {
							t.Errorf("%d messages are left", left)
						}
						if dead := len(w.messages("orders--dlq" + suffix)); dead != 0 {
							t.Errorf("%d dead letters", dead)
						}
					})
				})
			}
		}
	}
}

// A handler that returns after it was abandoned, or that ends its goroutine, does not start the next message: its
// worker has been replaced.
func TestWhatFollowsALateHandlerIsHandled(t *testing.T) {
	for name, late := range map[string]bool{"returns late": true, "ends its goroutine": false} {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ordered %v", name, ordered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					c := w.consumer("orders", &godwit.ConsumerOptions{
						Ordered: ordered, Concurrency: 1, ProcessingTimeout: time.Minute,
					})
					w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), many(5, "x")...)
					var starts atomic.Int32
					run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
						defer func() {
							switch first := starts.Add(1) == 1; {
							case first && late:
								time.Sleep(90 * time.Second)
							case first:
								runtime.Goexit()
							}
						}()
						return d.Done()
					})
					time.Sleep(5 * time.Minute)
					if r := run.stop(); starts.Load() != 5 || r.Handled != 5 {
						t.Errorf("%d of 5 messages were handled: %+v", starts.Load(), r)
					}
				})
			})
		}
	}
}
