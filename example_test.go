package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// check ends an example that cannot continue.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A producer, a consumer, and one message from one to the other, on the embedded server.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil) // on AWS: snssqs.Open(ctx, nil)
	check(err)

	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))

	pack := func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s at attempt %d\n", d.Body, d.Attempt)
		stop()     // one message is enough here
		return nil // done: the message is deleted
	}
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	report, err := consumer.Run(ctx, pack)
	check(err)
	fmt.Println("handled", report.Handled)
	// Output:
	// packed a kite at attempt 1
	// handled 1
}

// A handler that fails runs again after the backoff. Run ends with its context, and returns a report.
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

// A loop instead of a handler: its body settles each delivery. After the loop, Close waits until the service has the
// last verdict.
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
		check(d.Done()) // or Retry, Reject, Release
		break
	}
	report, err := consumer.Close(ctx)
	check(err)
	fmt.Println("handled", report.Handled)
	// Output:
	// packed a kite
	// handled 1
}

// A handler of batches inserts what is there with one statement.
func ExampleConsumer_RunBatches() {
	type wish struct{ User, Item string }
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	producer, err := godwit.NewProducer(ctx, backend, "wishes", nil)
	check(err)
	wishes := godwit.NewSender[wish](producer, godwit.JSON)
	check(wishes.Send(ctx, wish{User: "ada", Item: "a kite"}, godwit.Message{}))
	check(wishes.Send(ctx, wish{User: "bob", Item: "a phone"}, godwit.Message{}))
	consumer, err := godwit.NewConsumer(ctx, backend, "wishes", nil)
	check(err)

	insert := func(_ context.Context, ds []godwit.Typed[wish]) error {
		fmt.Printf("inserted %d wishes\n", len(ds))
		stop()
		return nil // all of them are done
	}
	batches := &godwit.BatchOptions{Size: 500, Window: 100 * time.Millisecond}
	report, err := consumer.RunBatches(ctx, godwit.HandleBatch(godwit.JSON, insert), batches)
	check(err)
	fmt.Println("handled", report.Handled)
	// Output:
	// inserted 2 wishes
	// handled 2
}

// An error for one delivery of a batch is about that delivery alone. The others are done.
func ExampleHandleBatchError() {
	type wish struct{ User, Item string }
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	producer, err := godwit.NewProducer(ctx, backend, "wishes", nil)
	check(err)
	wishes := godwit.NewSender[wish](producer, godwit.JSON)
	for _, w := range []wish{{"ada", "a kite"}, {"bob", ""}, {"eve", "a phone"}} {
		check(wishes.Send(ctx, w, godwit.Message{}))
	}
	consumer, err := godwit.NewConsumer(ctx, backend, "wishes", nil)
	check(err)

	insert := func(_ context.Context, ds []godwit.Typed[wish]) error {
		defer stop()
		failed := map[int]error{}
		for i, d := range ds {
			if d.Value.Item == "" {
				failed[i] = godwit.Permanent(errors.New("a wish for nothing"))
			}
		}
		if len(failed) > 0 {
			return &godwit.HandleBatchError{Errs: failed}
		}
		return nil
	}
	batches := &godwit.BatchOptions{Size: 3, Window: time.Minute} // a full batch does not wait
	report, err := consumer.RunBatches(ctx, godwit.HandleBatch(godwit.JSON, insert), batches)
	check(err)
	fmt.Printf("handled %d, rejected %d\n", report.Handled, report.Rejected)
	// Output:
	// handled 2, rejected 1
}
