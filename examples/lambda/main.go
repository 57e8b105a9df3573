package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwitlambda"
	"github.com/godwitmq/godwit/snssqs"
)

type order struct {
	Item   string
	Amount int
}

func main() {
	ctx := context.Background()
	backend, err := snssqs.Open(ctx, nil)
	check(err)
	h, err := godwitlambda.NewHandler(ctx, backend, "orders", godwit.Handle(godwit.JSON, pack), &godwit.ConsumerOptions{
		ProcessingTimeout: 20 * time.Second, // less than the function's timeout, which is 30 s
	})
	check(err)
	lambda.Start(h)
}

func pack(_ context.Context, o godwit.Typed[order]) error {
	if o.Value.Amount < 0 {
		return godwit.Permanent(fmt.Errorf("an amount of %d", o.Value.Amount)) // a dead letter
	}
	fmt.Printf("packed %d of %s\n", o.Value.Amount, o.Value.Item)
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
