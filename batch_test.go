package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// batches records what a batch handler got.
type batches struct {
	mu   sync.Mutex
	seen []string
}

func (b *batches) note(ds []*godwit.Delivery) {
	var bodies []string
	for _, d := range ds {
		bodies = append(bodies, string(d.Body))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, strings.Join(bodies, " "))
}

func (b *batches) want(t *testing.T, batches ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.seen, batches) {
		t.Errorf("batches:\n%s\nwant:\n%s", strings.Join(b.seen, "\n"), strings.Join(batches, "\n"))
	}
}

// onLogInBatches is onLog with a batch handler.
func onLogInBatches(t *testing.T, l *logOf, o *godwit.ConsumerOptions, bo *godwit.BatchOptions, h godwit.BatchHandler,
	body func(c *godwit.Consumer),
) {
	t.Helper()
	whileRunning(t, l, o, func(ctx context.Context, c *godwit.Consumer) (godwit.Report,
		error,
	) {
		return c.RunBatches(ctx, h, bo)
	}, body)
}

// A batch has the deliveries that wait, or those that come within the window, and at most Size of them. A delivery that
// comes while a batch gathers joins it and starts no other batch.
func TestABatchGathersWithinItsWindow(t *testing.T) {
	l, b := newLog(driver.ReceiveLimits{}), &batches{}
	var took []time.Duration
	var begun time.Time
	onLogInBatches(t, l, nil, &godwit.BatchOptions{Size: 4, Window: 10 * time.Second},
		func(_ context.Context, ds []*godwit.Delivery) error {
			b.note(ds)
			took = append(took, time.Since(begun))
			return nil
		}, func(*godwit.Consumer) {
			begun = time.Now()
			for i := range 6 {
				l.put(i, fmt.Sprint("key", i))
				rest(time.Second)
			}
			rest(time.Minute)
			b.want(t, "0 1 2 3", "4 5")
			if w := []time.Duration{3 * time.Second, 14 * time.Second}; !slices.Equal(took, w) {
				t.Errorf("batches began after %v, want %v", took, w)
			}
		})
}

// Consecutive deliveries of a key share a batch. If one fails, those after it are not handled, and are delivered again
// after it, without another attempt. Other keys are not affected.
func TestAFailureInABatchKeepsTheOrder(t *testing.T) {
	l, b := newLog(driver.ReceiveLimits{}), &batches{}
	var attempts []string
	onLogInBatches(t, l, &godwit.ConsumerOptions{Backoff: godwit.Constant(time.Minute)}, &godwit.BatchOptions{Size: 10},
		func(_ context.Context, ds []*godwit.Delivery) error {
			b.note(ds)
			for i, d := range ds {
				attempts = append(attempts, fmt.Sprint(d.ID, ":", d.Attempt))
				if d.ID == "2" && d.Attempt == 1 {
					return &godwit.HandleBatchError{Errs: map[int]error{i: errors.New("no")}}
				}
			}
			return nil
		}, func(*godwit.Consumer) {
			l.put(0, "a", "b", "a", "a", "b", "a")
			rest(time.Hour)
			b.want(t, "0 2 3 5 1 4", "2 3 5")
			want(t, l, "0 done", "1 done", "4 done", "2 done", "3 done", "5 done")
			if w := []string{"0:1", "2:1", "2:2", "3:1", "5:1"}; !slices.Equal(attempts, w) {
				t.Errorf("attempts %v, want %v", attempts, w)
			}
		})
}

// Each delivery of a batch can have a verdict of its own. After a rejected one, the next ones of its lane continue.
func TestVerdictsOfABatch(t *testing.T) {
	l, b := newLog(driver.ReceiveLimits{}), &batches{}
	onLogInBatches(t, l, nil, &godwit.BatchOptions{Size: 10}, func(_ context.Context, ds []*godwit.Delivery) error {
		b.note(ds)
		for _, d := range ds {
			if d.ID == "0" {
				_ = d.Reject(errors.New("bad"))
			}
		}
		return nil
	}, func(*godwit.Consumer) {
		l.put(0, "a", "a", "b")
		rest(time.Minute)
		b.want(t, "0 1 2", "1")
		got := l.answers() // 1 and 2 have different workers
		slices.Sort(got)
		if w := []string{"0 reject rejected", "1 done", "2 done"}; !slices.Equal(got, w) {
			t.Errorf("settled %q, want %q", got, w)
		}
	})
}

// A panic fails all deliveries of a batch, and the policy decides about each.
func TestAPanicInABatch(t *testing.T) {
	l, b := newLog(driver.ReceiveLimits{}), &batches{}
	onLogInBatches(t, l, &godwit.ConsumerOptions{MaxAttempts: 2, Backoff: godwit.Constant(time.Second)},
		&godwit.BatchOptions{Size: 10}, func(_ context.Context, ds []*godwit.Delivery) error {
			b.note(ds)
			panic("oh")
		}, func(*godwit.Consumer) {
			l.put(0, "a", "b")
			rest(time.Minute)
			b.want(t, "0 1", "0 1")
			want(t, l, "0 reject panic", "1 reject panic")
		})
}

// Deliveries that were gathered and not started when the consumer is paused or stopped are untouched: they are
// delivered again after the pause, in order, and are released at a stop.
func TestAPauseWhileABatchGathers(t *testing.T) {
	l, b := newLog(driver.ReceiveLimits{}), &batches{}
	onLogInBatches(t, l, nil, &godwit.BatchOptions{Size: 10, Window: time.Minute},
		func(_ context.Context, ds []*godwit.Delivery) error {
			b.note(ds)
			return nil
		}, func(c *godwit.Consumer) {
			l.put(0, "a", "b", "a")
			rest(time.Second)
			c.Pause()
			rest(time.Hour)
			b.want(t)
			if n := c.Health().Running; n != 0 {
				t.Errorf("%d run in a pause", n)
			}
			c.Resume()
			rest(2 * time.Minute)
			b.want(t, "0 2 1")
			l.put(3, "a", "a", "c")
			rest(time.Second)
		})
	want(t, l, "0 done", "2 done", "1 done", "3 release", "4 release", "5 release")
}

// Deliveries that a worker takes for a batch while the consumer stops are released, also if hooks make the stop slow.
// The worker does not spin meanwhile.
func TestAStopBetweenTwoBatches(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 1,
			Hooks: godwit.Hooks{State: func(_, to godwit.State) {
				if to == godwit.StateExiting {
					time.Sleep(10 * time.Second)
				}
			}},
		})
		w.send(w.producer("orders", nil), many(3, "")...)
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		r, err := c.RunBatches(ctx, func(context.Context, []*godwit.Delivery) error {
			time.Sleep(8 * time.Second)
			return nil
		}, &godwit.BatchOptions{Size: 1})
		if err != nil || r.Released != 2 || r.Handled != 1 {
			t.Errorf("report %+v, error %v; want one handled and two released", r, err)
		}
	})
}

// A batch handler that ignores the end of its context counts as one handler: it is replaced once, and on a channel
// without order all its deliveries are rejected.
func TestAStuckBatch(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	stuck := make(chan struct{})
	var report int
	onLogInBatches(t, l, &godwit.ConsumerOptions{Concurrency: 1, ProcessingTimeout: time.Second, Hooks: godwit.Hooks{
		Abandoned: func(*godwit.Delivery, []byte) { report++ },
	}}, &godwit.BatchOptions{Size: 10}, func(_ context.Context, ds []*godwit.Delivery) error {
		if ds[0].ID == "0" {
			<-stuck
		}
		return nil
	}, func(*godwit.Consumer) {
		stuck = make(chan struct{})
		l.put(0, "", "", "")
		rest(time.Minute)
		l.put(3, "")
		rest(time.Minute)
		want(t, l, "0 reject timeout", "1 reject timeout", "2 reject timeout", "3 done")
		if report != 1 {
			t.Errorf("%d handlers were abandoned, want one", report)
		}
		close(stuck)
	})
}

// Leases are renewed for a whole batch, while it gathers and while it is handled. On a queue, too, no delivery
// overtakes a failed one of its key, also if the service keeps the retry.
func TestBatchesOnAnOrderedQueue(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Ordered: true, Concurrency: 2, Lease: 6 * time.Second,
			Backoff: godwit.Constant(10 * time.Minute),
		})
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		for i := range 40 {
			w.send(p, godwit.Message{OrderKey: fmt.Sprint("key", i%4), Body: fmt.Append(nil, i)})
		}
		var mu sync.Mutex
		byKey := map[string][]string{}
		seen := map[string]int{}
		ctx, stop := context.WithCancel(w.Context())
		done := make(chan struct{})
		var report godwit.Report
		go func() {
			defer close(done)
			var err error
			if report, err = c.RunBatches(ctx, func(_ context.Context, ds []*godwit.Delivery) error {
				time.Sleep(20 * time.Second) // more than three leases
				mu.Lock()
				defer mu.Unlock()
				failed := map[int]error{}
				bad := map[string]bool{}
				for i, d := range ds {
					seen[string(d.Body)]++
					if string(d.Body) == "9" && d.Attempt == 1 {
						failed[i], bad[d.OrderKey] = errors.New("no"), true
					}
					if !bad[d.OrderKey] {
						byKey[d.OrderKey] = append(byKey[d.OrderKey], string(d.Body))
					}
				}
				if len(failed) > 0 {
					return &godwit.HandleBatchError{Errs: failed}
				}
				return nil
			}, &godwit.BatchOptions{Size: 8, Window: 5 * time.Second}); err != nil {
				t.Error(err)
			}
		}()
		rest(time.Hour)
		stop()
		<-done
		for key, bodies := range byKey {
			var want []string
			for i := range 40 {
				if fmt.Sprint("key", i%4) == key {
					want = append(want, fmt.Sprint(i))
				}
			}
			if !slices.Equal(bodies, want) {
				t.Errorf("%s was handled in the order %v", key, bodies)
			}
		}
		if report.Handled != 40 || report.LeaseLost != 0 {
			t.Errorf("%+v", report)
		}
	})
}

// Middleware for single handlers is an error with batches, and so are invalid sizes.
func TestBatchOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		handler := func(context.Context, []*godwit.Delivery) error { return nil }
		for name, o := range map[string]*godwit.BatchOptions{
			"BatchOptions.Size":   {Size: -1},
			"BatchOptions.Window": {Window: -1},
		} {
			_, err := w.consumer("orders", nil).RunBatches(w.Context(), handler, o)
			if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := w.consumer("orders", nil).RunBatches(w.Context(), nil, nil)
		if !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("no handler: %v", err)
		}
		_,
			err = w.consumer("orders",
			&godwit.ConsumerOptions{Middleware: []godwit.Middleware{godwit.Recover()}}).RunBatches(w.Context(), handler,
			nil)
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "BatchOptions.Middleware") {
			t.Errorf("middleware of singles: %v", err)
		}
	})
}

// In typed batches, messages that cannot be decoded are rejected, and the indexes of errors are those of the typed
// slice.
func TestTypedBatches(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	onLogInBatches(t, l, nil, &godwit.BatchOptions{Size: 10}, godwit.HandleBatch(godwit.JSON,
		func(_ context.Context, ds []godwit.Typed[int]) error {
			for i, d := range ds {
				if d.Value == 2 {
					return &godwit.HandleBatchError{Errs: map[int]error{i: godwit.Permanent(errors.New("two"))}}
				}
			}
			return nil
		}), func(*godwit.Consumer) {
		l.feed <- []driver.Delivery{
			{ID: "x", Body: []byte("no number"), Source: l.source, Handle: driver.Handle{Seq: 0}},
			{ID: "y", Body: []byte("1"), Source: l.source, Handle: driver.Handle{Seq: 1}},
			{ID: "z", Body: []byte("2"), Source: l.source, Handle: driver.Handle{Seq: 2}},
		}
		rest(time.Minute)
		want(t, l, "0 reject undecodable", "1 done", "2 reject permanent")
	})
}

// Deliveries behind an undecodable one in its lane are not in the batch that rejects it, because they would be
// delivered again, handled or not.
func TestBehindAnUndecodableDelivery(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	var seen []int
	onLogInBatches(t, l, nil, &godwit.BatchOptions{Size: 10}, godwit.HandleBatch(godwit.JSON,
		func(_ context.Context, ds []godwit.Typed[int]) error {
			for _, d := range ds {
				seen = append(seen, d.Value)
			}
			return nil
		}), func(*godwit.Consumer) {
		var ds []driver.Delivery
		for i, body := range []string{"0", "bad", "2", "3", "4"} {
			ds = append(ds, driver.Delivery{
				ID: fmt.Sprint(i), OrderKey: map[bool]string{true: "b", false: "a"}[i == 4],
				Body:   []byte(body),
				Source: l.source, Handle: driver.Handle{Seq: uint64(i)},
			})
		}
		l.feed <- ds
		rest(time.Minute)
		slices.Sort(seen)
		if w := []int{0, 2, 3, 4}; !slices.Equal(seen, w) {
			t.Errorf("the handler got %v, want %v", seen, w)
		}
	})
}

// A delivery behind a failed one belongs to the handler that starts it next, even if the rest of the batch takes long
// to settle.
func TestWhatGoesBackBehindAFailureIsConcludedByItsNextHandler(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, Concurrency: 2, Hooks: godwit.Hooks{
			Rejected: func(*godwit.Delivery, error) { time.Sleep(time.Second) }, // meanwhile the second starts again
		}})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(2, "x")...)
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		r, err := c.RunBatches(ctx, func(_ context.Context, ds []*godwit.Delivery) error {
			if len(ds) == 2 {
				return &godwit.HandleBatchError{Errs: map[int]error{0: godwit.Permanent(errors.New("bad"))}}
			}
			defer cancel()
			time.Sleep(5 * time.Second)
			if n := len(w.messages("orders.fifo")); n != 1 {
				t.Errorf("the queue holds %d messages while one is being handled", n)
			}
			return nil
		}, nil)
		if err != nil || r.Handled != 1 || r.Rejected != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A shutdown waits until the deliveries that a batch had gathered are released.
func TestAShutdownWaitsForWhatABatchReleases(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{
			Released: func(*godwit.Delivery) { time.Sleep(100 * time.Millisecond) },
		}})
		w.send(w.producer("orders", nil), many(3, "x")...)
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
		defer cancel()
		r, err := c.RunBatches(ctx, func(context.Context, []*godwit.Delivery) error { return nil },
			&godwit.BatchOptions{Window: time.Minute})
		if err != nil || r.Released < 3 { // an open poll may have received them again
			t.Errorf("%+v, %v", r, err)
		}
		w.visible("orders", 3)
	})
}

// Only the error that the handler itself returns can say that a part of a batch was handled. All deliveries fail with
// an error of a producer or another function about other messages, an error that names no delivery, or one that names
// deliveries outside of the batch.
func TestOnlyTheHandlersOwnErrorIsAPartialOne(t *testing.T) {
	no := errors.New("no")
	var nothing *godwit.HandleBatchError
	for _, c := range []struct {
		name   string
		answer error
		want   []string
	}{
		{
			"its own", &godwit.HandleBatchError{Errs: map[int]error{1: no}},
			[]string{"0 done", "1 reject exhausted", "2 done"},
		},
		{"a producer's", &godwit.SendBatchError{Errs: map[int]error{1: no}}, nil},
		{"a producer's, wrapped", fmt.Errorf("forward: %w", &godwit.SendBatchError{Errs: map[int]error{1: no}}), nil},
		{"its own, wrapped", fmt.Errorf("insert: %w", &godwit.HandleBatchError{Errs: map[int]error{1: no}}), nil},
		{"the backend's", &driver.BatchError{Errs: map[int]error{1: no}}, nil},
		{"beyond the batch", &godwit.HandleBatchError{Errs: map[int]error{1: no, 3: no}}, nil},
		{"before the batch", &godwit.HandleBatchError{Errs: map[int]error{-1: no}}, nil},
		{"without an entry", &godwit.HandleBatchError{}, nil},
		{"without an error", &godwit.HandleBatchError{Errs: map[int]error{1: nil}}, nil},
		{"a nil pointer", nothing, nil},
	} {
		if c.want == nil {
			c.want = []string{"0 reject exhausted", "1 reject exhausted", "2 reject exhausted"}
		}
		run := func(name string, h godwit.BatchHandler) {
			t.Run(c.name+", "+name, func(t *testing.T) {
				l := newLog(driver.ReceiveLimits{})
				var feed []driver.Delivery
				for i := range 3 {
					feed = append(feed, driver.Delivery{
						ID: fmt.Sprint(i), Body: fmt.Append(nil, i),
						OrderKey: fmt.Sprint(i), Source: l.source, Handle: driver.Handle{Seq: uint64(i)},
					})
				}
				onLogInBatches(t, l, &godwit.ConsumerOptions{MaxAttempts: 1}, nil, h, func(*godwit.Consumer) {
					l.feed <- feed
					rest(time.Minute)
					want(t, l, c.want...)
				})
			})
		}
		run("raw", func(context.Context, []*godwit.Delivery) error { return c.answer })
		run("typed", godwit.HandleBatch(godwit.JSON, func(context.Context,
			[]godwit.Typed[int],
		) error {
			return c.answer
		}))
	}
}
