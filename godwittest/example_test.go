package godwittest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// A test of a handler. A test of your own has a *testing.T, and can run this in virtual time, in a bubble of
// testing/synctest.
func ExampleNew() {
	pack := func(_ context.Context, d *godwit.Delivery) error {
		if len(d.Body) == 0 {
			return godwit.Permanent(errors.New("an empty order"))
		}
		return nil
	}
	run(func(t testing.TB) {
		h := godwittest.New(t, nil)
		h.Run(h.Consumer("orders", nil), pack)

		h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite", "")...)

		h.AwaitNothingLeft()
		h.AssertHandled("orders", "a kite")
		h.AssertDeadLettered("orders", godwittest.DeadLetter{Body: "", Kind: "permanent", Cause: "an empty order"})
	})
	// Output:
	// the test has passed
}

// Eleven days of retries take milliseconds, because the clock of the server is moved.
func ExampleHarness_Advance() {
	run(func(t testing.TB) {
		h := godwittest.New(t, nil)
		h.Run(h.Consumer("payments", &godwit.ConsumerOptions{
			MaxAttempts: 12,
			Backoff:     godwit.Constant(10 * time.Hour),
		}), func(context.Context, *godwit.Delivery) error {
			return errors.New("the bank is closed")
		})
		h.Send(h.Producer("payments", nil), godwittest.Bodies("5 euros")...)
		h.Await(func() bool { return len(h.Messages("payments")) == 1 })

		h.Advance(11 * 10 * time.Hour)

		h.AwaitDeadLettered("payments", 1)
		h.AssertAttempts("payments", "5 euros", 12)
		for _, letter := range h.DeadLetters("payments") {
			fmt.Printf("%s: %s after %d attempts\n", letter.Body, letter.Kind, letter.Attempts)
		}
	})
	// Output:
	// 5 euros: exhausted after 12 attempts
	// the test has passed
}

// The service loses the answer to a send. The message was accepted, the producer does not know, and sends it again. On
// an ordered channel that makes no difference.
func ExampleHarness_LoseAnswers() {
	run(func(t testing.TB) {
		h := godwittest.New(t, nil)
		h.Run(h.Consumer("payments", &godwit.ConsumerOptions{Ordered: true}),
			func(context.Context, *godwit.Delivery) error { return nil })
		payments := h.Producer("payments", &godwit.ProducerOptions{Ordered: true})
		h.LoseAnswers(godwittest.Sends, "payments", 1)

		h.Send(payments, godwittest.Keyed("ada", "5 euros")...)

		h.AwaitNothingLeft()
		h.AssertAttempts("payments", "5 euros", 1)
		fmt.Println("sent again:", payments.Report().Retried)
	})
	// Output:
	// sent again: 1
	// the test has passed
}

// A deployment in the middle of the work: nothing is lost, and the order is kept.
func ExampleRunning_Stop() {
	run(func(t testing.TB) {
		h := godwittest.New(t, nil)
		ordered := &godwit.ConsumerOptions{Ordered: true, ShutdownTimeout: 100 * time.Millisecond}
		h.Send(h.Producer("orders", &godwit.ProducerOptions{Ordered: true}),
			godwittest.Keyed("ada", "a kite", "a string")...)
		begun := make(chan struct{})
		first := h.Run(h.Consumer("orders", ordered), func(ctx context.Context, _ *godwit.Delivery) error {
			close(begun)
			<-ctx.Done() // a slow handler, which ends when the time for the shutdown is over
			return ctx.Err()
		})
		<-begun
		fmt.Println("released:", first.Stop().Released)

		h.Run(h.Consumer("orders", ordered), func(context.Context, *godwit.Delivery) error { return nil })
		h.AwaitNothingLeft()
		h.AssertOrder("orders", "ada", "a kite", "a string")
	})
	// Output:
	// released: 2
	// the test has passed
}

// The same harness on the embedded Kafka.
func ExampleNewKafka() {
	run(func(t testing.TB) {
		h := godwittest.NewKafka(t, &godwittest.KafkaOptions{Kafka: &kafkalocal.Options{}})
		ordered := &godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(time.Millisecond)}
		h.Run(h.Consumer("payments", ordered), func(_ context.Context, d *godwit.Delivery) error {
			if d.Attempt == 1 {
				return errors.New("the bank is closed")
			}
			return nil
		})

		h.Send(h.Producer("payments", &godwit.ProducerOptions{Ordered: true}), godwittest.Keyed("ada", "5 euros")...)

		h.AwaitHandled("payments", 1)
		for _, attempt := range h.Messages("payments")[0].Attempts {
			fmt.Println(attempt.Number, attempt.Outcome)
		}
	})
	// Output:
	// 1 retry after 1ms
	// 2 handled
	// the test has passed
}

// run runs a test as go test does, and prints how it ends. An example has no *testing.T of its own.
func run(test func(t testing.TB)) {
	t := &example{}
	ctx, cancel := context.WithCancel(context.Background())
	t.ctx = ctx
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			cancel()
			for _, f := range slices.Backward(t.cleanups) {
				f()
			}
		}()
		test(t)
	}()
	<-ended
	if !t.failed {
		fmt.Println("the test has passed")
	}
}

// example is the part of testing.T that a harness needs.
type example struct {
	testing.TB
	ctx      context.Context
	cleanups []func()
	failed   bool
}

func (t *example) Helper()                  {}
func (t *example) Context() context.Context { return t.ctx }
func (t *example) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }
func (t *example) Failed() bool             { return t.failed }
func (t *example) Logf(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
}

func (t *example) Errorf(format string, args ...any) {
	t.failed = true
	t.Logf(format, args...)
}

func (t *example) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}
