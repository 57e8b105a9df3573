package main

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil) // on AWS this line is snssqs.Open(ctx, nil), and nothing else changes
	check(err)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))

	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("handled %s at attempt %d\n", d.Body, d.Attempt)
		stop()     // one is enough here: Run drains and returns
		return nil // an error instead means: retry a little later
	})
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
