package schemaregistry_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/schemaregistry"
)

// The registry of this example is one in the process.
func Example() {
	type Order struct {
		Item string `json:"item"`
	}
	registry := srfake.New()
	defer registry.Close()
	client, err := sr.NewClient(sr.URLs(registry.URL()))
	check(err)
	codec, err := schemaregistry.New(client, schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{
		Subject:  schemaregistry.TopicName("orders"),
		Schema:   &sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object"}`},
		Register: true, // by a deployment, outside of an example
	})
	check(err)

	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(context.Background())
	producer, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	check(godwit.NewSender[Order](producer, codec).Send(ctx, Order{Item: "a kite"}, godwit.Message{}))

	_, err = consumer.Run(ctx, godwit.Handle(codec, func(_ context.Context, d godwit.Typed[Order]) error {
		fmt.Printf("%s, schema %d\n", d.Value.Item, d.Body[4])
		stop()
		return nil
	}))
	check(err)
	// Output:
	// a kite, schema 1
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
