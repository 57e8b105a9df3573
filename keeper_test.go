package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	model "github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
)

// A renewal that hangs beyond the end of the lease does not prevent the keeper from noticing that end.
func TestALeaseEndsWhileItsRenewalHangs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Lease: 12 * time.Second})
		w.send(w.producer("orders", nil), body("x"))
		begun := time.Now()
		remove := w.server.Control("sqs.ChangeMessageVisibilityBatch",
			func(context.Context, *localaws.Request) localaws.Outcome {
				if time.Since(begun) < 11*time.Second {
					return localaws.Outcome{Err: &wire.Error{
						Code: "ServiceUnavailable", Message: "down", Status: 503,
						Fault: true,
					}}
				}
				return localaws.Outcome{Delay: time.Minute}
			})
		defer remove()
		var first atomic.Bool
		run := w.run(c, func(ctx context.Context, _ *godwit.Delivery) error {
			if !first.CompareAndSwap(false, true) {
				return nil
			}
			<-ctx.Done()
			if took := time.Since(begun); took > 12*time.Second || !errors.Is(context.Cause(ctx), godwit.ErrLeaseLost) {
				t.Errorf("canceled after %v because of %v, with a lease of 12 s", took, context.Cause(ctx))
			}
			return ctx.Err()
		})
		time.Sleep(time.Minute)
		if r := run.stop(); r.LeaseLost != 1 || r.Handled != 1 {
			t.Errorf("report %+v", r)
		}
	})
}

// If the context has ended before Run, Run returns without an error.
func TestRunUnderAnEndedContext(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if _, err := w.consumer("orders", nil).Run(ctx, func(context.Context,
			*godwit.Delivery,
		) error {
			return nil
		}); err != nil {
			t.Errorf("run returned %v", err)
		}
	})
}

// A release waits for a renewal of the message that is in flight. Otherwise the renewal would make the message
// invisible again.
func TestAReleaseWaitsForARenewal(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Lease: 12 * time.Second, ShutdownTimeout: 4 * time.Second})
		w.send(w.producer("orders", nil), body("x"))
		begun := time.Now()
		w.server.Control("sqs.ChangeMessageVisibilityBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			if at := time.Since(begun); at > 7*time.Second && at < 8500*time.Millisecond {
				return localaws.Outcome{Delay: 2 * time.Second} // the renewal, before it takes effect
			}
			return localaws.Outcome{}
		})
		run := w.run(c, func(ctx context.Context, _ *godwit.Delivery) error {
			select {
			case <-ctx.Done():
			case <-time.After(8*time.Second + 700*time.Millisecond):
			}
			return godwit.Fatal(errors.New("no more"))
		})
		<-run.done // the renewal began after 8 s, and the handler returned while it was in flight
		w.visible("orders", 1)
	})
}

// No renewal begins while a release is in flight: it would make a message invisible that others may receive already.
func TestNoRenewalFollowsARelease(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Lease: 12 * time.Second, ShutdownTimeout: 6 * time.Second})
		w.send(w.producer("orders", nil), body("x"))
		var releases, after atomic.Int32
		w.server.Control("sqs.ChangeMessageVisibilityBatch", func(_ context.Context,
			r *localaws.Request,
		) localaws.Outcome {
			if *r.Input.(*model.ChangeMessageVisibilityBatchInput).Entries[0].VisibilityTimeout > 0 {
				after.Add(releases.Load())
				return localaws.Outcome{}
			}
			releases.Add(1)
			return localaws.Outcome{DelayAfter: 3 * time.Second} // the release has taken effect, and its answer is late
		})
		run := w.run(c, func(context.Context, *godwit.Delivery) error {
			time.Sleep(7 * time.Second) // a renewal is due after 8 s
			return godwit.Fatal(errors.New("no more"))
		})
		<-run.done
		w.visible("orders", 1)
		if releases.Load() != 1 || after.Load() != 0 {
			t.Errorf("%d releases, and %d renewals after that", releases.Load(), after.Load())
		}
	})
}

// A delivery that loses its lease while its handler runs may be handled by another consumer. The deliveries behind it
// in its lane, whose leases have not ended, do not start before its handler ends.
func TestALostLeaseHoldsItsLaneBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, Concurrency: 3, Lease: 12 * time.Second})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(3, "x")...)
		var first string // the entry of the message in the renewal whose lease is lost
		w.server.ControlOnce("sqs.ChangeMessageVisibilityBatch", func(_ context.Context,
			r *localaws.Request,
		) localaws.Outcome {
			first = r.Input.(*model.ChangeMessageVisibilityBatchInput).Entries[0].ID
			return localaws.Outcome{FailEntries: func(id string) *wire.Error {
				if id != first {
					return nil
				}
				return &wire.Error{Code: "ReceiptHandleIsInvalid", Message: "The receipt handle has expired."}
			}}
		})
		var started diary
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			if started.note(d) > 1 {
				return nil
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), godwit.ErrLeaseLost) {
				t.Errorf("canceled because of %v", context.Cause(ctx))
			}
			return ctx.Err()
		})
		time.Sleep(time.Minute)
		run.stop()
		if got, want := started.all(), []string{"x 0", "x 0", "x 1", "x 2"}; !slices.Equal(got, want) {
			t.Errorf("started %q, want %q", got, want)
		}
	})
}

// If a held retry loses its lease, the deliveries behind it in its lane are released at once.
func TestAHeldRetryThatIsLostFreesItsLane(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Ordered: true, Lease: 6 * time.Second,
			Policy: func(*godwit.Delivery, error) godwit.Verdict {
				return godwit.Verdict{Action: godwit.ActionRetry, After: 4 * time.Minute}
			},
		})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(3, "x")...)
		remove := w.server.Control("sqs.ChangeMessageVisibilityBatch",
			func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: &wire.Error{
					Code: "ServiceUnavailable", Message: "down", Status: 503,
					Fault: true,
				}}
			})
		begun := time.Now()
		var handled atomic.Int32
		run := w.run(c, func(context.Context, *godwit.Delivery) error {
			if time.Since(begun) < 6*time.Second {
				return errors.New("not yet")
			}
			handled.Add(1)
			return nil
		})
		time.Sleep(7 * time.Second)
		remove()
		time.Sleep(time.Minute)
		if n := handled.Load(); n != 3 {
			t.Errorf("%d of 3 are handled a minute after the lease of the first has ended", n)
		}
		run.stop()
	})
}

// leasedLog is a log whose deliveries have leases.
type leasedLog struct{ *logOf }

func (l leasedLog) Receiver(ctx context.Context, c driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
	_, err := l.logOf.Receiver(ctx, c, o)
	return l, err
}

func (leasedLog) Extend(_ context.Context, _ []driver.Handle, by time.Duration) (time.Time, error) {
	return time.Now().Add(by), nil
}

// A delivery whose lease ended while the process was frozen is not started, because others may have it.
func TestNothingStartsWithoutItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := leasedLog{newLog(driver.ReceiveLimits{Lease: 30 * time.Second, SettleBatch: 10, RetryMax: time.Hour})}
		l.lim.Keeps = false
		c, err := godwit.NewConsumer(t.Context(), l, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		var late []driver.Delivery
		for i := range 50 {
			late = append(late, driver.Delivery{
				ID: fmt.Sprint(i), Source: l.source,
				Handle: driver.Handle{Seq: uint64(i)}, LeaseEnds: time.Now().Add(-time.Second),
			})
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		l.feed <- late
		started := 0
		r, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
			started++
			return nil
		})
		if err != nil || started != 0 || r.LeaseLost != 50 {
			t.Errorf("%d started, %+v, %v", started, r, err)
		}
	})
}

// Renewals near the end of the total time that the service allows are not more frequent than others. The service counts
// from the receive, and an open poll began up to 20 s before its message came. So the service grants less than is
// requested.
func TestRenewalsNearTheTotal(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		p := w.producer("orders", nil)
		time.AfterFunc(17*time.Second, func() { w.send(p, body("x")) })
		ctx, stop := context.WithTimeout(w.Context(), 13*time.Hour)
		defer stop()
		for d, err := range c.Deliveries(ctx) {
			if err != nil {
				t.Error(err)
				break
			}
			time.Sleep(12*time.Hour + time.Minute)
			if err := d.Done(); !errors.Is(err, godwit.ErrLeaseLost) {
				t.Errorf("after twelve hours: %v", err)
			}
			break
		}
		if n := w.calls("sqs.ChangeMessageVisibilityBatch"); n > 12*60*60/20+10 {
			t.Errorf("%d renewals in twelve hours, want one every 20 s", n)
		}
		stop()
		_, _ = c.Close(context.Background())
	})
}
