package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// check ends an example that cannot go on.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A producer to an exchange, and one of the exchange's consumers, which looks at some of the messages only.
func ExampleNewProducer() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil) // or snssqs.Open
	check(err)
	defer backend.Close(ctx)
	consumer, err := godwit.NewConsumer(ctx, backend, "wishlist_events.mobile", &godwit.ConsumerOptions{
		Ordered: true,
		Filter:  godwit.Filter{Prefix: []string{"MOBILE."}},
	})
	check(err)

	wishes, err := godwit.NewProducer(ctx, backend, "wishlist_events.*", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(wishes.Send(ctx, godwit.Message{OrderKey: "ada", RoutingKey: "BOOK.PAPERBACK", Body: []byte("a novel")}))
	check(wishes.Send(ctx, godwit.Message{OrderKey: "ada", RoutingKey: "MOBILE.APPLE", Body: []byte("a phone")}))
	check(wishes.Close(ctx))

	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s wants %s\n", d.OrderKey, d.Body)
		stop()
		return nil
	})
	check(err)
	// Output:
	// ada wants a phone
}

// A handler that fails is run again after a while; Run drains when its context ends, and reports.
func ExampleConsumer_Run() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Backoff: godwit.Constant(0)})
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))

	running, stop := context.WithCancel(ctx)
	report, err := consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		if d.Attempt == 1 {
			return errors.New("the warehouse is busy")
		}
		fmt.Printf("packed %s at attempt %d\n", d.Body, d.Attempt)
		stop()
		return nil
	})
	check(err)
	fmt.Printf("handled %d, retried %d\n", report.Handled, report.Retried)
	// Output:
	// packed a kite at attempt 2
	// handled 1, retried 1
}

// The caller settles. Leaving the loop gives back what was prefetched; Close waits until the last verdict is with the
// service.
func ExampleConsumer_Deliveries() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))

	for d, err := range consumer.Deliveries(ctx) {
		check(err)
		fmt.Printf("packed %s\n", d.Body)
		check(d.Done())
		break
	}
	report, err := consumer.Close(ctx)
	check(err)
	fmt.Println("handled", report.Handled)
	// Output:
	// packed a kite
	// handled 1
}

// Values instead of bytes, on both ends.
func ExampleHandle() {
	type wish struct{ User, Item string }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	p, err := godwit.NewProducer(ctx, backend, "wishes", nil)
	check(err)
	c, err := godwit.NewConsumer(ctx, backend, "wishes", nil)
	check(err)
	wishes := godwit.NewSender[wish](p, godwit.JSON)
	check(wishes.Send(ctx, wish{User: "ada", Item: "a kite"}, godwit.Message{}))

	running, stop := context.WithCancel(ctx)
	_, err = c.Run(running, godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[wish]) error {
		fmt.Printf("%s wants %s (%s)\n", d.Value.User, d.Value.Item, d.ContentType)
		stop()
		return nil
	}))
	check(err)
	// Output:
	// ada wants a kite (application/json)
}

// What a policy makes of a handler's errors.
func ExampleRetryPolicy() {
	policy := godwit.RetryPolicy(3, godwit.Schedule(10*time.Second, time.Minute))
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

// An order that was sent twice is packed once. A store that several processes share does the same for all of them.
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
		Concurrency: 1, // else both may be begun at once, and one comes again when the other is done
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
