package godwit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// ways are the ways in which a consumer runs. Each counts the handled messages.
var ways = map[string]func(ctx context.Context, c *godwit.Consumer, handled *atomic.Int32) error{
	"Run": func(ctx context.Context, c *godwit.Consumer, handled *atomic.Int32) error {
		_, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error { handled.Add(1); return nil })
		return err
	},
	"RunAll": func(ctx context.Context, c *godwit.Consumer, handled *atomic.Int32) error {
		return godwit.RunAll(ctx, nil, c.With(func(context.Context,
			*godwit.Delivery,
		) error {
			handled.Add(1)
			return nil
		}))
	},
	"Deliveries": func(ctx context.Context, c *godwit.Consumer, handled *atomic.Int32) error {
		for d, err := range c.Deliveries(ctx) {
			if err != nil {
				return err
			}
			handled.Add(1)
			if err := d.Done(); err != nil {
				return err
			}
		}
		_, err := c.Close(context.WithoutCancel(ctx))
		return err
	},
}

// If the service does not answer when a consumer begins, the consumer waits for it, as it does later.
func TestAConsumerWaitsForItsServiceAtTheStart(t *testing.T) {
	t.Parallel()
	for way, run := range ways {
		for how := range stalls {
			t.Run(way+" "+how, func(t *testing.T) {
				inWorld(t, func(w *world) {
					b, s := w.stalledAt("", how)
					c, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
					if err != nil {
						t.Fatal(err)
					}
					s.on.Store(true)
					ctx, cancel := context.WithCancel(w.Context())
					defer cancel()
					ended := make(chan error, 1)
					var handled atomic.Int32
					go func() { ended <- run(ctx, c, &handled) }()
					w.send(w.producer("orders", nil), body("x"))
					time.Sleep(time.Minute)
					h := c.Health()
					if told := strings.Join(h.Unhealthy, "\n"); !strings.Contains(told, "opening the channel") ||
						h.State != godwit.StateInitialized {
						t.Errorf("after a minute: %+v", h)
					}
					time.Sleep(10 * time.Minute)
					s.on.Store(false)
					time.Sleep(21 * time.Second) // a try that hangs, and the pause after it
					if h := c.Health(); handled.Load() != 1 || len(h.Unhealthy) > 0 {
						t.Errorf("afterwards %d handled: %+v", handled.Load(), h)
					}
					cancel()
					if err := <-ended; err != nil {
						t.Errorf("the stop: %v", err)
					}
				})
			})
		}
	}
}

// A consumer that waits for its service ends with its context, or by Close, without an error.
func TestAStopWhileTheServiceIsAway(t *testing.T) {
	t.Parallel()
	for way, run := range ways {
		for _, closed := range []bool{false, true} {
			t.Run(way, func(t *testing.T) {
				inWorld(t, func(w *world) {
					b, s := w.stalledAt("", "hangs before the headers")
					c, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
					if err != nil {
						t.Fatal(err)
					}
					s.on.Store(true)
					ctx, cancel := context.WithCancel(w.Context())
					defer cancel()
					ended := make(chan error, 1)
					go func() { ended <- run(ctx, c, new(atomic.Int32)) }()
					time.Sleep(time.Minute)
					if closed {
						_, err = c.Close(w.Context())
					} else {
						cancel()
					}
					synctest.Wait()
					select {
					case errRun := <-ended:
						err = errors.Join(err, errRun)
					default:
						err = errors.New("it still runs")
					}
					if st, _ := c.State(); err != nil || st != godwit.StateExited {
						t.Errorf("closed %v: %v, %v", closed, st, err)
					}
				})
			})
		}
	}
}

// Errors that waiting does not repair are returned at once. A missing channel is created again if that is allowed.
func TestWhatKeepsAConsumerFromBeginning(t *testing.T) {
	t.Parallel()
	denied := func(r *http.Request) (*http.Response, error) {
		text := `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`
		return answer(r, http.StatusBadRequest, io.NopCloser(strings.NewReader(text))), nil
	}
	for name, c := range map[string]struct {
		denied, gone bool
		provision    godwit.ProvisionMode
		class        driver.Class // of the error; Permanent: no error
	}{
		"denied":                  {denied: true, class: driver.Denied},
		"gone, and made again":    {gone: true},
		"gone, and only verified": {gone: true, provision: godwit.ProvisionVerify, class: driver.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				b, s := w.stalledAt("GetQueueAttributes", "")
				s.how = denied
				w.consumer("orders", nil) // creates the queue
				consumer, err := godwit.NewConsumer(w.Context(), b, "orders",
					&godwit.ConsumerOptions{Provision: c.provision})
				if err != nil {
					t.Fatal(err)
				}
				s.on.Store(c.denied)
				if c.gone {
					w.deleteChannel("orders", false)
				}
				ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				_, err = consumer.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
				if c.class == driver.Permanent {
					if polls := consumer.Report().Polls; err != nil || polls == 0 {
						t.Errorf("after %d polls: %v", polls, err)
					}
				} else if driver.ClassOf(err) != c.class || time.Since(begun) > time.Second {
					t.Errorf("after %v: %v", time.Since(begun), err)
				}
			})
		})
	}
}

// In a fleet, a consumer that waits for its service does not delay the others.
func TestAServiceThatDoesNotAnswerDelaysNoOtherConsumer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		b, s := w.stalledAt("", "hangs before the headers")
		away, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.on.Store(true)
		var orders, mails atomic.Int32
		count := func(n *atomic.Int32) godwit.Handler {
			return func(context.Context, *godwit.Delivery) error { n.Add(1); return nil }
		}
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		ended := make(chan error, 1)
		there := w.consumer("mails", nil)
		go func() { ended <- godwit.RunAll(ctx, nil, away.With(count(&orders)), there.With(count(&mails))) }()
		w.send(w.producer("orders", nil), body("x"))
		w.send(w.producer("mails", nil), body("x"))
		time.Sleep(time.Second)
		if mails.Load() != 1 || orders.Load() != 0 {
			t.Errorf("%d mails and %d orders were handled", mails.Load(), orders.Load())
		}
		s.on.Store(false)
		time.Sleep(time.Minute)
		if orders.Load() != 1 {
			t.Errorf("%d orders were handled", orders.Load())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
