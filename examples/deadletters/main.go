package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

func main() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx,
		godwit.Message{Body: []byte("a kite"), Headers: godwit.Headers{{Name: "customer", Value: "4711"}}}))
	fail(ctx, backend)
	again(ctx, backend, orders)
}

// fail runs a consumer that can never handle the order, and says so by Permanent.
func fail(ctx context.Context, backend *local.Backend) {
	ctx, stop := context.WithCancel(ctx)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Name: "packing"})
	check(err)
	_, err = consumer.Run(ctx, func(context.Context, *godwit.Delivery) error {
		stop()
		return godwit.Permanent(errors.New("no such customer"))
	})
	check(err)
}

// again prints why each dead letter was rejected, and sends it back to its channel. The dead letter is deleted when the
// service has accepted the message. To leave a dead letter where it is, call Release.
func again(ctx context.Context, backend *local.Backend, orders *godwit.Producer) {
	consumer, err := godwit.NewConsumer(ctx, backend, "orders@dlq", nil)
	check(err)
	for d, err := range consumer.Deliveries(ctx) {
		check(err)
		why := d.Death
		fmt.Printf("%s for customer %s was rejected on %s\n", d.Body, d.Headers.Value("customer"), why.Channel)
		fmt.Printf("%s: %s, said %s at attempt %d\n", why.Kind, why.Error, why.Consumer, why.Attempts)
		check(orders.Send(ctx, d.Forward()))
		check(d.Done())
		break
	}
	_, err = consumer.Close(ctx)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
