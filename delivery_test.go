package godwit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit"
)

var errNoKite = errors.New("unknown order")

// settlings are the methods that settle a delivery.
var settlings = map[string]struct {
	settle func(d *godwit.Delivery) error
	want   godwit.Settlement
}{
	"done": {(*godwit.Delivery).Done, godwit.Settlement{}},
	"retry": {
		func(d *godwit.Delivery) error { return d.Retry(time.Minute) },
		godwit.Settlement{Verdict: godwit.Verdict{Action: godwit.ActionRetry, After: time.Minute}},
	},
	"reject": {
		func(d *godwit.Delivery) error { return d.Reject(errNoKite) },
		godwit.Settlement{Verdict: godwit.Verdict{Action: godwit.ActionReject}, Reason: errNoKite},
	},
	"release": {(*godwit.Delivery).Release, godwit.Settlement{Released: true}},
}

// A delivery that a test made can be settled once, a second time is ErrSettled, and the test sees how it was settled.
func TestADeliveryMadeByHand(t *testing.T) {
	for name, c := range settlings {
		d := &godwit.Delivery{Body: []byte("a kite")}
		if how, ok := d.Settled(); ok {
			t.Errorf("%s: settled before the call, as %+v", name, how)
		}
		if err := c.settle(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		settledAs(t, name, d, c.want)
		for second, again := range settlings {
			if err := again.settle(d); !errors.Is(err, godwit.ErrSettled) {
				t.Errorf("%s, then %s: %v", name, second, err)
			}
		}
		settledAs(t, name, d, c.want)
		d.Keep()
	}
}

func settledAs(t *testing.T, name string, d *godwit.Delivery, want godwit.Settlement) {
	t.Helper()
	how, ok := d.Settled()
	if diff := cmp.Diff(want, how, cmpopts.EquateErrors()); diff != "" || !ok {
		t.Errorf("%s: settled %v, as (-want +got):\n%s", name, ok, diff)
	}
}

// A handler's method decides whether its delivery is done or, if it has called none, its error. A release is not done,
// although its verdict is the zero one.
func TestIsDone(t *testing.T) {
	failed := errors.New("failed")
	for name, c := range settlings {
		d := &godwit.Delivery{}
		if err := c.settle(d); err != nil {
			t.Fatal(err)
		}
		if want := name == "done"; d.IsDone(nil) != want || d.IsDone(failed) != want {
			t.Errorf("%s: done is %v and %v, want %v", name, d.IsDone(nil), d.IsDone(failed), want)
		}
	}
	if d := (&godwit.Delivery{}); !d.IsDone(nil) || d.IsDone(failed) {
		t.Error("without a method, the error decides")
	}
}

// Middleware sees how its handler has settled a delivery, and so does the caller of an iterator.
func TestSettledTellsMiddleware(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		seen := map[string]godwit.Settlement{}
		c := w.consumer("orders",
			&godwit.ConsumerOptions{Middleware: []godwit.Middleware{func(next godwit.Handler) godwit.Handler {
				return func(ctx context.Context, d *godwit.Delivery) error {
					err := next(ctx, d)
					if how, ok := d.Settled(); ok {
						seen[string(d.Body)] = how
					}
					return err
				}
			}}, Concurrency: 1})
		p := w.producer("orders", nil)
		w.send(p, body("nothing"))
		for name := range settlings {
			w.send(p, body(name))
		}
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if s, ok := settlings[string(d.Body)]; ok && d.Attempt == 1 {
				if _, before := seen[string(d.Body)]; !before {
					return s.settle(d)
				}
			}
			return nil
		})
		time.Sleep(2 * time.Minute)
		run.stop()
		want := map[string]godwit.Settlement{}
		for name, c := range settlings {
			want[name] = c.want
		}
		if diff := cmp.Diff(want, seen, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("middleware saw (-want +got):\n%s", diff)
		}
		w.send(p, body("in a loop"))
		loop := w.consumer("orders", nil)
		for d, err := range loop.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Done(); err != nil {
				t.Error(err)
			}
			settledAs(t, "in a loop", d, godwit.Settlement{})
			break
		}
		w.close(loop)
	})
}
