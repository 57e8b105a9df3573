package snssqs_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// entry returns the error of the only entry of an answer.
func entry(err error) error {
	var batch *driver.BatchError
	if errors.As(err, &batch) {
		return batch.Errs[0]
	}
	return err
}

// A FIFO queue reports a receipt handle that is not valid any more; a standard queue accepts it.
func TestLostLeases(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := driver.Channel{Queue: "q", Ordered: ordered}
			w.ensure(owner(ch))
			s, r := w.sender(ch), w.receiver(ch, driver.Filter{})
			x := r.(driver.Extender)
			n := 0
			held := func() driver.Delivery {
				n++
				w.send(s, driver.Message{Body: []byte(fmt.Sprint(n)), OrderKey: fmt.Sprint(n)})
				return w.receive(r, 1)[0]
			}
			settle := func(d driver.Delivery, a driver.Action) error {
				return r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: a}})
			}
			lost := func(what string, err error, want bool) {
				t.Helper()
				if got := errors.Is(entry(err), driver.ErrLost); got != want || !want && err != nil {
					t.Errorf("ordered %v, %s: %v; want lost %v", ordered, what, err, want)
				}
			}
			d := held()
			time.Sleep(31 * time.Second)
			if ordered {
				lost("release under an expired lease", settle(d, driver.Release), true)
			}
			lost("delete under an expired lease", settle(d, driver.Done), ordered)
			if ds, err := r.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil || len(ds) > 0 {
				t.Errorf("ordered %v: a finished message was delivered again: %v, %v", ordered, ds, err)
			}
			d = held()
			lost("the first delete", settle(d, driver.Done), false)
			lost("extend what is deleted",
				func() error {
					_,
						err := x.Extend(w.Context(), []driver.Handle{d.Handle}, time.Minute)
					return err
				}(), true)
			lost("release what is deleted", settle(d, driver.Release), true)
			d = held()
			lost("release", settle(d, driver.Release), false)
			again := w.receive(r, 1)[0]
			if err := settle(d, driver.Done); ordered && !errors.Is(entry(err), driver.ErrLost) {
				t.Errorf("delete with a superseded handle of a FIFO queue: %v", err)
			}
			lost("delete with the newest handle", settle(again, driver.Done), false)
		})
	}
}

// SQS lets one receiver keep a message for twelve hours in total. Extend never reports more, and a renewal at the end
// does not release the message while it is being handled.
func TestRenewalsEndWithTheServicesTotal(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r := w.receiver(orders, driver.Filter{})
		w.foreign("orders", "x", nil)
		d := w.receive(r, 1)[0]
		begun := time.Now()
		total := r.Limits().LeaseTotal
		x := r.(driver.Extender)
		for time.Since(begun) < total-15*time.Minute {
			if _, err := x.Extend(w.Context(), []driver.Handle{d.Handle}, time.Hour); err != nil {
				t.Fatalf("after %v: %v", time.Since(begun), err)
			}
			time.Sleep(10 * time.Minute)
		}
		ends, err := x.Extend(w.Context(), []driver.Handle{d.Handle}, time.Hour)
		if err != nil || ends.After(begun.Add(total)) {
			t.Errorf("at %v extended until %v, %v; the total is %v", time.Since(begun), ends.Sub(begun), err, total)
		}
		time.Sleep(time.Until(ends) - time.Millisecond)
		if _, err := x.Extend(w.Context(), []driver.Handle{d.Handle}, time.Hour); !errors.Is(entry(err),
			driver.ErrLost) {
			t.Errorf("extended beyond the total: %v", err)
		}
		if a := w.attributes("orders"); a["ApproximateNumberOfMessagesNotVisible"] != "1" {
			t.Errorf("the message became visible before its lease ended: %v", a)
		}
	})
}

// LeaseEnds is never later than the end of SQS's visibility timeout, which is in whole seconds.
func TestLeasesAreWholeSeconds(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		r, err := w.b.Receiver(w.Context(), orders,
			driver.ReceiverOptions{Lease: 2900 * time.Millisecond, Wait: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.receivers = append(w.receivers, r)
		w.foreign("orders", "x", nil)
		asked := time.Now()
		d := w.receive(r, 1)[0]
		if got := d.LeaseEnds.Sub(asked); got != 2*time.Second || r.Limits().Lease != got {
			t.Errorf("the lease is %v and %v, want 2s", got, r.Limits().Lease)
		}
		time.Sleep(2 * time.Second)
		w.receive(r, 1)
	})
}
