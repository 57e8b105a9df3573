package godwitproto_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwitproto"
	"github.com/godwitmq/godwit/local"
)

// The type of the messages is usually one that protoc-gen-go has generated from a file of yours.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(context.Background())
	producer, err := godwit.NewProducer(ctx, backend, "breaks", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "breaks", nil)
	check(err)

	breaks := godwit.NewSender[*durationpb.Duration](producer, godwitproto.Binary{})
	check(breaks.Send(ctx, durationpb.New(5*time.Minute), godwit.Message{}))

	_, err = consumer.Run(ctx, godwit.Handle(godwitproto.Binary{},
		func(_ context.Context, d godwit.Typed[*durationpb.Duration]) error {
			fmt.Println(d.Value.AsDuration(), "as", d.ContentType)
			stop()
			return nil
		}))
	check(err)
	// Output:
	// 5m0s as application/protobuf
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
