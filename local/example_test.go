package local_test

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// SQS and SNS in this process. Server gives access to the embedded AWS, here to count requests.
func ExampleOpen() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.SendBatch(ctx, []godwit.Message{{Body: []byte("a kite")}, {Body: []byte("a phone")}}))

	fmt.Println("requests:", backend.Server().Calls()["sqs.SendMessageBatch"])
	// Output:
	// requests: 1
}

// check ends an example that cannot continue.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
