package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// What a policy decides about the errors of a handler.
func ExampleRetryPolicy() {
	policy := godwit.RetryPolicy(3, godwit.Steps(10*time.Second, time.Minute))
	busy := errors.New("the warehouse is busy")
	for _, c := range []struct {
		failures int // that this consumer knows of, this one included
		err      error
	}{
		{1, busy},
		{2, busy},
		{2, godwit.RetryAfter(time.Hour, busy)},
		{3, busy},
		{1, godwit.Permanent(errors.New("no such customer"))},
		{1, godwit.Fatal(errors.New("the database is of another version"))},
	} {
		v := policy(&godwit.Delivery{Attempt: c.failures, Failures: c.failures}, c.err)
		fmt.Println(c.failures, v.Action, v.After)
	}
	// Output:
	// 1 retry 10s
	// 2 retry 1m0s
	// 2 retry 1h0m0s
	// 3 reject 0s
	// 1 reject 0s
	// 1 stop 0s
}

// A policy of one's own drops what is too old to be useful, and leaves the rest to RetryPolicy.
func ExamplePolicy() {
	otherwise := godwit.RetryPolicy(3, godwit.Constant(10*time.Second))
	policy := func(d *godwit.Delivery, err error) godwit.Verdict {
		if time.Since(d.SentAt) > time.Hour {
			return godwit.Verdict{Action: godwit.ActionDrop}
		}
		return otherwise(d, err)
	}
	busy := errors.New("the warehouse is busy")
	for _, age := range []time.Duration{time.Minute, 2 * time.Hour} {
		d := &godwit.Delivery{Attempt: 1, Failures: 1, SentAt: time.Now().Add(-age)}
		fmt.Println(policy(d, busy).Action)
	}
	// Output:
	// retry
	// drop
}

// A message that can never be handled goes to the dead letters at once. They are a channel with the reason of each.
func ExamplePermanent() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Name: "packing"})
	check(err)
	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(context.Context, *godwit.Delivery) error {
		stop()
		return godwit.Permanent(errors.New("no such customer"))
	})
	check(err)

	letters, err := godwit.NewConsumer(ctx, backend, "orders@dlq", nil)
	check(err)
	for d, err := range letters.Deliveries(ctx) {
		check(err)
		fmt.Printf("%s: %s at attempt %d of %s: %s\n", d.Body, d.Death.Kind, d.Death.Attempts, d.Death.Consumer,
			d.Death.Error)
		check(d.Done())
		break
	}
	_, err = letters.Close(ctx)
	check(err)
	// Output:
	// a kite: permanent at attempt 1 of packing: no such customer
}

// Dead letters are sent back to their channel when the cause has been removed. Each is deleted after its copy has been
// accepted.
func ExampleDelivery_Forward() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	open := false // the shop
	work := func() {
		consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		check(err)
		running, stop := context.WithCancel(ctx)
		_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
			stop()
			if !open {
				return errors.New("the shop is closed")
			}
			fmt.Printf("packed %s\n", d.Body)
			return nil
		})
		check(err)
	}
	work()

	letters, err := godwit.NewConsumer(ctx, backend, "orders@dlq", nil)
	check(err)
	for d, err := range letters.Deliveries(ctx) {
		check(err)
		fmt.Printf("%s: %s\n", d.Body, d.Death.Error)
		check(orders.Send(ctx, d.Forward()))
		check(d.Done())
		break // an operator's program would end when nothing is left
	}
	_, err = letters.Close(ctx)
	check(err)

	open = true
	work()
	// Output:
	// a kite: the shop is closed
	// packed a kite
}

// An order that was sent twice is packed once. With a store that several processes share, the same holds for all of
// them.
func ExampleIdempotent() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	order := godwit.Message{Body: []byte("a kite"), Headers: godwit.Headers{{Name: "order", Value: "4711"}}}
	check(orders.Send(ctx, order))
	check(orders.Send(ctx, order))

	running, stop := context.WithCancel(ctx)
	number := func(d *godwit.Delivery) string { return d.Headers.Value("order") }
	var ended atomic.Int32
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		Concurrency: 1, // with more, both may start at once; then one is retried when the other is done
		Middleware:  []godwit.Middleware{godwit.Idempotent(godwit.NewMemoryStore(0), number, time.Minute)},
		Hooks: godwit.Hooks{Ended: func(*godwit.Delivery, godwit.Verdict, error, time.Duration) {
			if ended.Add(1) == 2 {
				stop()
			}
		}},
	})
	check(err)
	report, err := consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s\n", d.Body)
		return nil
	})
	check(err)
	fmt.Printf("finished %d deliveries\n", report.Handled)
	// Output:
	// packed a kite
	// finished 2 deliveries
}

// A handler that needs only its delivery is tested without a backend.
func ExampleDelivery_Settled() {
	pack := func(_ context.Context, d *godwit.Delivery) error {
		if len(d.Body) == 0 {
			return d.Reject(errors.New("an empty order"))
		}
		return d.Retry(time.Hour) // the warehouse is closed
	}
	for _, body := range []string{"a kite", ""} {
		d := &godwit.Delivery{Body: []byte(body), Attempt: 1}
		check(pack(context.Background(), d))
		how, _ := d.Settled()
		fmt.Println(how.Action, how.After, how.Reason)
	}
	// Output:
	// retry 1h0m0s <nil>
	// reject 0s an empty order
}
