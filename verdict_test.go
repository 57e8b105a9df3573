package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// What a handler decides by a method of its delivery is known to everything that asks what it decided.

// byMethod is how a handler decides without an error.
var byMethod = map[string]func(d *godwit.Delivery) error{
	"retry":   func(d *godwit.Delivery) error { return d.Retry(time.Second) },
	"release": (*godwit.Delivery).Release,
	"reject":  func(d *godwit.Delivery) error { return d.Reject(errors.New("not today")) },
}

// Idempotent finishes the key of a message only when it is done, and not when its handler sends it back, even if that
// handler returns long after its timeout.
func TestIdempotentKnowsSettlementsByMethod(t *testing.T) {
	for name, sendBack := range byMethod {
		for _, late := range []time.Duration{0, 20 * time.Second} {
			t.Run(fmt.Sprintf("%s, returns after %v", name, late), func(t *testing.T) {
				inWorld(t, func(w *world) { idempotentSentBack(w, sendBack, late, name == "reject") })
			})
		}
	}
}

func idempotentSentBack(w *world, sendBack func(d *godwit.Delivery) error, late time.Duration, rejects bool) {
	store := godwit.NewMemoryStore(0)
	c := w.consumer("orders", &godwit.ConsumerOptions{
		ProcessingTimeout: 5 * time.Second,
		Middleware: []godwit.Middleware{
			godwit.Idempotent(store, func(*godwit.Delivery) string { return "17" }, time.Hour),
		},
	})
	w.send(w.producer("orders", nil), body("x"))
	var starts atomic.Int32
	run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
		if starts.Add(1) == 1 {
			err := sendBack(d)
			time.Sleep(late)
			return err
		}
		return d.Done()
	})
	time.Sleep(5 * time.Minute)
	r := run.stop()
	claim, _ := store.Begin(w.Context(), "orders/17", "test", 0)
	switch finished := claim.State == godwit.ClaimFinished; {
	case rejects && (starts.Load() != 1 || r.Rejected != 1 || finished):
		w.Errorf("%d starts, finished %v: %+v; want one start, a dead letter, no finished key", starts.Load(), finished, r)
	case !rejects && (starts.Load() != 2 || r.Handled != 1 || !finished):
		w.Errorf("%d starts, finished %v: %+v; want two starts and a finished key", starts.Load(), finished, r)
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

// A handler that chooses Retry and does not return has its delivery for itself: the next handler, which begins after
// the delay while the first still runs, gets another one, which only it can settle.
func TestASecondHandlerBesideAnAbandonedOne(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 2, ProcessingTimeout: 10 * time.Second})
		w.send(w.producer("orders", nil), body("one"))
		var first atomic.Pointer[godwit.Delivery]
		starts, late := 0, error(nil)
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if starts++; first.CompareAndSwap(nil, d) {
				if err := d.Retry(3 * time.Second); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Second) // beside the second handler, which begins after 14 s
				late = d.Reject(nil)
				return nil
			}
			time.Sleep(8 * time.Second)
			if d == first.Load() || d.Attempt != 2 || string(d.Body) != "one" {
				t.Errorf("the second handler has the first one's delivery, or attempt %d, %q", d.Attempt, d.Body)
			}
			return d.Done()
		})
		time.Sleep(time.Hour)
		r := run.stop()
		if r.Handled != 1 || r.Rejected != 0 || r.Abandoned != 1 || starts != 2 || late == nil {
			t.Errorf("%d starts, the late settlement answers %v: %+v", starts, late, r)
		}
	})
}

// A handler that returns when the next one has already handled its message does not disturb that one, nor the messages
// after it.
func TestAHandlerThatReturnsAfterTheNextOne(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 2, ProcessingTimeout: 10 * time.Second})
		p := w.producer("orders", nil)
		w.send(p, body("one"))
		var starts, canceled atomic.Int32
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			if starts.Add(1) == 1 {
				err := d.Retry(3 * time.Second)
				time.Sleep(16 * time.Second) // the second handler begins after 14 s, and returns after 15 s
				return err
			}
			time.Sleep(time.Second)
			if ctx.Err() != nil {
				canceled.Add(1)
			}
			return nil
		})
		time.Sleep(15*time.Second + 500*time.Millisecond) // of these, the first handler returns beside one
		w.send(p, body("two"))
		time.Sleep(time.Minute)
		r := run.stop()
		if r.Handled != 2 || r.Rejected != 0 || starts.Load() != 3 || canceled.Load() != 0 || r.Leaked != 0 {
			t.Errorf("%d starts, %d canceled: %+v", starts.Load(), canceled.Load(), r)
		}
	})
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

func TestSeverityPolicy(t *testing.T) {
	_, missing := os.Open("no such file")
	deadline, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	policy := godwit.SeverityPolicy(3, godwit.Constant(time.Minute))
	again, reject, stop := godwit.Verdict{Action: godwit.ActionRetry, After: time.Minute},
		godwit.Verdict{Action: godwit.ActionReject}, godwit.Verdict{Action: godwit.ActionStop}
	for _, tc := range []struct {
		err  error
		want godwit.Verdict
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, again},
		{fmt.Errorf("call the bank: %w", deadline.Err()), again},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), again},
		{&driver.Error{Class: driver.Throttled, Err: errors.New("slow down")}, again},
		{&driver.Error{Class: driver.Denied, Err: errors.New("no")}, reject},
		{missing, reject},
		{errors.New("the amount is negative"), reject},
		{context.Canceled, reject},
		{&godwit.PanicError{Value: "oh"}, reject},
		{godwit.Permanent(io.EOF), reject},
		{godwit.Fatal(errors.New("the disk is full")), stop},
		{godwit.RetryAfter(time.Second, errors.New("later")), godwit.Verdict{
			Action: godwit.ActionRetry,
			After:  time.Second,
		}},
	} {
		if got := policy(&godwit.Delivery{Attempt: 1}, tc.err); got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.err, got, tc.want)
		}
	}
	if got := policy(&godwit.Delivery{Attempt: 3, Failures: 3}, io.EOF); got != reject {
		t.Errorf("the third failure: %+v, want %+v", got, reject)
	}
}

// A delivery that was kept and then retried is delivered again like any other: if it is then neither settled nor kept,
// it is released.
func TestAKeptDeliveryIsNotKeptForItsNextAttempt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), body("x"))
		starts := 0
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if starts++; starts == 1 {
				d.Keep()
				if err := d.Retry(time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if starts == 2 {
				continue // neither settled nor kept
			}
			if starts == 3 {
				if err := d.Done(); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if r, err := c.Close(w.Context()); err != nil || r.Handled != 1 || r.Released != 1 {
			t.Errorf("report %+v, error %v", r, err)
		}
	})
}

// Attempts of a message that was retried here and then released several times are only its starts. The service counts
// receives, which at some point are as many as the starts.
func TestReleasesAfterHeldRetriesAreNotAttempts(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, MaxAttempts: 10})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), body("x"))
		var attempts []int
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			switch attempts = append(attempts, d.Attempt); len(attempts) {
			case 1, 2:
				return d.Retry(time.Second)
			case 3, 4, 5, 6:
				return d.Release()
			}
			return nil
		})
		time.Sleep(time.Minute)
		r.stop()
		if want := []int{1, 2, 3, 3, 3, 3, 3}; !slices.Equal(attempts, want) {
			t.Errorf("the attempts were %v, want %v", attempts, want)
		}
	})
}

// Releases of other processes count as receives. They are not failures, and no message is rejected because of them.
func TestDeploysUseUpNoAttempts(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			o := &godwit.ConsumerOptions{Ordered: ordered, Concurrency: 4, Backoff: godwit.Constant(time.Second)}
			w.consumer("orders", o)
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			const n = 10 // one poll: the oldest messages are received again
			for i := range n {
				w.send(p, godwit.Message{OrderKey: fmt.Sprint(i), Body: fmt.Append(nil, i)})
			}
			for range 2 {
				deployed := w.run(w.consumer("orders", o), func(ctx context.Context, _ *godwit.Delivery) error {
					<-ctx.Done()
					return ctx.Err()
				})
				time.Sleep(time.Second)
				deployed.cancel()
				<-deployed.done
			}
			r := w.run(w.consumer("orders", o), func(_ context.Context, d *godwit.Delivery) error {
				if d.Attempt < 2 || d.Failures > 1 {
					t.Errorf("attempt %d with %d failures known", d.Attempt, d.Failures)
				}
				if d.Failures == 0 {
					return errors.New("a temporary error")
				}
				return nil
			})
			time.Sleep(time.Minute)
			if got := r.stop(); got.Handled != n || got.Rejected != 0 {
				t.Errorf("ordered %v: %+v", ordered, got)
			}
		})
	}
}

// A message that always fails is started at most three times as often as in one process, however many processes there
// are.
func TestAPoisonMessageAmongTenProcesses(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{time.Second, 6 * time.Minute} { // held here, and kept by the service
		inWorld(t, func(w *world) {
			var starts atomic.Int64
			o := &godwit.ConsumerOptions{Backoff: godwit.Constant(wait)}
			var runs []*running
			for range 10 {
				runs = append(runs, w.run(w.consumer("orders", o), func(context.Context, *godwit.Delivery) error {
					starts.Add(1)
					return errors.New("poison")
				}))
			}
			w.send(w.producer("orders", nil), body("x"))
			time.Sleep(3 * time.Hour)
			var dead int64
			for _, r := range runs {
				dead += r.stop().Rejected
			}
			if n := starts.Load(); n < 3 || n > 9 || dead != 1 {
				t.Errorf("with a wait of %v: %d starts, dead-lettered %d times", wait, n, dead)
			}
		})
	}
}

// A stop releases a held retry with the rest of its delay.
func TestAStopReleasesWithTheRestOfADelay(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			o := &godwit.ConsumerOptions{Ordered: ordered, Backoff: godwit.Constant(4 * time.Minute)}
			r := w.run(w.consumer("orders", o), func(context.Context,
				*godwit.Delivery,
			) error {
				return errors.New("no")
			})
			w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), body("x"))
			time.Sleep(time.Minute)
			if got := r.stop(); got.Released != 1 {
				t.Errorf("%+v", got)
			}
			stopped := time.Now()
			var came time.Duration
			next := w.run(w.consumer("orders", o), func(context.Context, *godwit.Delivery) error {
				came = time.Since(stopped)
				return nil
			})
			time.Sleep(10 * time.Minute)
			next.stop()
			if came < 2*time.Minute || came > 3*time.Minute+time.Second {
				t.Errorf("ordered %v: it was delivered again %v after the stop, want the rest of 4 minutes", ordered,
					came)
			}
		})
	}
}

// Keys that wait for a retry do not delay other keys. Those without failures take as long as without any failures, and
// all keys take longer by at most the longest sum of one key's delays.
func TestWaitingKeysDelayNoOthers(t *testing.T) {
	t.Parallel()
	const keys, each, wait = 200, 4, 30 * time.Second
	for _, concurrency := range []int{1, 10} {
		work := func(fails func(key int) bool) (good, all time.Duration) {
			inWorld(t, func(w *world) {
				o := &godwit.ConsumerOptions{Ordered: true, Concurrency: concurrency, Backoff: godwit.Constant(wait)}
				c := w.consumer("orders", o)
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
				var ms []godwit.Message
				for i := range keys * each {
					ms = append(ms, godwit.Message{OrderKey: fmt.Sprint(i % keys), Body: fmt.Append(nil, i)})
				}
				if err := p.SendBatch(w.Context(), ms); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				var mu sync.Mutex
				r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
					time.Sleep(10 * time.Millisecond)
					key, _ := strconv.Atoi(d.OrderKey)
					if fails(key) && d.Failures == 0 && bytes.Equal(d.Body, []byte(d.OrderKey)) {
						return errors.New("once")
					}
					mu.Lock()
					defer mu.Unlock()
					all = time.Since(begun)
					if !fails(key) {
						good = all
					}
					return nil
				})
				time.Sleep(10 * time.Minute)
				if got := r.stop(); got.Handled != keys*each || got.Rejected != 0 {
					t.Errorf("%+v", got)
				}
			})
			return good, all
		}
		without, _ := work(func(int) bool { return false })
		good, all := work(func(key int) bool { return key%5 == 0 })
		if limit := without + without/5; good > limit || all > limit+wait {
			t.Errorf("%d workers: keys without a failure took %v, all of them %v; without failures it is %v",
				concurrency, good, all, without)
		}
	}
}

// A message that would be released to a queue that is about to dead-letter it is rejected with a reason instead.
func TestReleasesNearTheServicesLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(d *godwit.Delivery) error
	}{
		{"release", (*godwit.Delivery).Release},
		{"retry", func(d *godwit.Delivery) error { return d.Retry(6 * time.Minute) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var reason error
				con := w.consumer("orders",
					&godwit.ConsumerOptions{Hooks: godwit.Hooks{Rejected: func(_ *godwit.Delivery,
						err error,
					) {
						reason = err
					}}})
				w.send(w.producer("orders", nil), body("x"))
				starts := 0
				r := w.run(con, func(_ context.Context, d *godwit.Delivery) error {
					starts++
					return c.do(d)
				})
				time.Sleep(12 * time.Hour)
				if got := r.stop(); got.Rejected != 1 || starts < 25 || starts > 30 {
					t.Errorf("%d starts, %+v", starts, got)
				}
				if reason == nil || !strings.Contains(reason.Error(), "maxReceiveCount") {
					t.Errorf("the reason is %v", reason)
				}
			})
		})
	}
}

// A retry that is asked for later than SQS can keep a message comes earlier, and the log says what was asked and what
// comes.
func TestARetryIsShortened(t *testing.T) {
	inWorld(t, func(w *world) {
		var log strings.Builder
		c := w.consumer("orders", &godwit.ConsumerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		var starts []time.Time
		r := w.run(c, func(context.Context, *godwit.Delivery) error {
			starts = append(starts, time.Now())
			return godwit.RetryAfter(20*time.Hour, errors.New("closed until tomorrow"))
		})
		if err := w.producer("orders", nil).Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(13 * time.Hour)
		r.stop()
		if len(starts) != 2 || starts[1].Sub(starts[0]) > 12*time.Hour {
			t.Errorf("started at %v", starts)
		}
		for _, want := range []string{"asked=20h0m0s", "after=11h59m0s"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, log.String())
			}
		}
	})
}
