package memdriver_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver/memdriver"
)

// A producer and a consumer on memory. Retries, order and dead letters work as on any backend.
func ExampleOpen() {
	ctx := context.Background()
	backend, err := memdriver.Open(nil)
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

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
