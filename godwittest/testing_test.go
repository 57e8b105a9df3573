package godwittest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

// docs/testing.md shows the code of this file; a test compares them.

// charge is the application's handler: it calls a bank, which may be down.
func charge(bank func() error) godwit.Handler {
	return func(_ context.Context, d *godwit.Delivery) error {
		if len(d.Body) == 0 {
			return godwit.Permanent(errors.New("an empty payment"))
		}
		return bank()
	}
}

func TestACharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		consumer := h.Consumer("payments", nil)
		payments := h.Producer("payments", nil)
		h.Run(consumer, charge(func() error { return nil }))

		h.Send(payments, godwittest.Bodies("5 euros", "")...)

		h.AwaitNothingLeft()
		h.AssertHandled("payments", "5 euros")
		h.AssertDeadLettered("payments", godwittest.DeadLetter{Body: "", Kind: "permanent", Cause: "an empty payment"})
	})
}

func TestFourteenDaysOfRetries(t *testing.T) {
	h := godwittest.New(t, nil) // no bubble: the process's time is real, and the server's clock is moved
	consumer := h.Consumer("payments", &godwit.ConsumerOptions{
		MaxAttempts: 29,
		Backoff:     godwit.Constant(11*time.Hour + 58*time.Minute), // SQS keeps a wait for almost 12 hours
	})
	h.Run(consumer, charge(func() error { return errors.New("the bank is closed") }))
	h.Send(h.Producer("payments", nil), godwittest.Bodies("5 euros")...)
	h.Await(func() bool { return len(h.Messages("payments")) == 1 })

	h.Advance(13 * 24 * time.Hour)
	h.AssertDeadLettered("payments") // none: there is one more day

	h.Advance(24 * time.Hour)
	h.AssertAttempts("payments", "5 euros", 29)
	h.AssertDeadLettered("payments",
		godwittest.DeadLetter{Body: "5 euros", Kind: "exhausted", Cause: "the bank is closed"})
}

func TestTheBankReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		consumer := h.Consumer("payments",
			&godwit.ConsumerOptions{MaxAttempts: 10, Backoff: godwit.Constant(7*time.Hour + 10*time.Second)})
		reopens := time.Now().Add(48 * time.Hour)
		h.Run(consumer, charge(func() error {
			if time.Now().Before(reopens) {
				return errors.New("the bank is closed")
			}
			return nil
		}))

		h.Send(h.Producer("payments", nil), godwittest.Bodies("5 euros")...)

		h.AwaitHandled("payments", 1)
		h.AssertAttempts("payments", "5 euros", 8)
		h.AssertDeadLettered("payments")
		if open := time.Since(reopens); open > 7*time.Hour {
			t.Errorf("it was charged %v after the bank had opened again", open)
		}
	})
}

func TestADeploy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		ordered := &godwit.ConsumerOptions{Ordered: true, Concurrency: 4}
		slowly := func(context.Context, *godwit.Delivery) error {
			time.Sleep(time.Second)
			return nil
		}
		first := h.Run(h.Consumer("orders", ordered), slowly)
		orders := h.Producer("orders", &godwit.ProducerOptions{Ordered: true})
		var ada, bob []string
		for i := range 20 {
			ada = append(ada, fmt.Sprint("ada's order ", i))
			bob = append(bob, fmt.Sprint("bob's order ", i))
		}
		h.Send(orders, godwittest.Keyed("ada", ada...)...)
		h.Send(orders, godwittest.Keyed("bob", bob...)...)

		h.Advance(5500 * time.Millisecond) // while handlers run
		report := first.Stop()
		h.Run(h.Consumer("orders", ordered), slowly) // the new version

		h.AwaitNothingLeft()
		h.AssertHandled("orders", append(bob, ada...)...)
		h.AssertOrder("orders", "ada", ada...)
		h.AssertDeadLettered("orders")
		if report.Released == 0 || report.Handled == 0 {
			t.Errorf("the deploy was not in the middle: %+v", report)
		}
	})
}

func TestABrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		consumer := h.Consumer("payments", nil)
		payments := h.Producer("payments", nil)
		h.LoseAnswers(godwittest.Sends, "payments", 1)    // the message is sent, and the producer sends it again
		h.Throttle(godwittest.Sends, "payments", 2)       // it is refused twice, and then accepted
		h.LoseAnswers(godwittest.Receives, "payments", 1) // the message is in flight until its lease ends
		h.Fail(godwittest.Verdicts, "payments", 1)
		h.Run(consumer, charge(func() error { return nil }))

		h.Send(payments, godwittest.Bodies("5 euros")...)

		h.AwaitNothingLeft()
		h.AssertHandled("payments", "5 euros", "5 euros") // so the bank wants an id with each payment
	})
}

func TestAHandlerAlone(t *testing.T) {
	postpone := func(_ context.Context, d *godwit.Delivery) error {
		if string(d.Body) == "" {
			return d.Reject(errors.New("an empty payment"))
		}
		return d.Retry(time.Hour)
	}
	d := &godwit.Delivery{Body: []byte("5 euros"), Attempt: 1}
	if err := postpone(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if how, ok := d.Settled(); !ok || how.Action != godwit.ActionRetry || how.After != time.Hour {
		t.Errorf("it was settled %v, as %+v", ok, how)
	}
	if err := d.Done(); !errors.Is(err, godwit.ErrSettled) {
		t.Errorf("settled a second time: %v", err)
	}
}

func TestAChargeOnKafka(t *testing.T) {
	h := godwittest.NewKafka(t, nil)
	ordered := &godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(time.Millisecond)}
	h.Run(h.Consumer("payments", ordered), charge(func() error { return errors.New("the bank is closed") }))

	h.Send(h.Producer("payments", &godwit.ProducerOptions{Ordered: true}), godwittest.Keyed("ada", "5 euros")...)

	h.AwaitNothingLeft()
	h.AssertAttempts("payments", "5 euros", 3)
	h.AssertDeadLettered("payments",
		godwittest.DeadLetter{Body: "5 euros", Kind: "exhausted", Cause: "the bank is closed"})
}
