package cloudevents_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cloudevents"
	"github.com/godwitmq/godwit/local"
)

func Example() {
	type Cart struct{ Total int }
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(context.Background())
	producer, err := godwit.NewProducer(ctx, backend, "carts", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "carts", nil)
	check(err)

	events, err := cloudevents.NewSender(producer, nil)
	check(err)
	e := cloudevents.Event{ID: "1", Source: "https://shop.example.com/carts", Type: "com.example.cart.paid"}
	check(e.SetData(godwit.JSON, Cart{Total: 12}))
	check(events.Send(ctx, e, godwit.Message{}))

	_, err = consumer.Run(ctx, cloudevents.Handle(func(_ context.Context, d godwit.Typed[cloudevents.Event]) error {
		var c Cart
		if err := d.Value.DataAs(godwit.JSON, &c); err != nil {
			return godwit.Permanent(err)
		}
		fmt.Println(d.Value.Type, c.Total)
		fmt.Println(strings.ReplaceAll(string(d.Body), ",", ",\n"))
		stop()
		return nil
	}))
	check(err)
	// Output: com.example.cart.paid 12
	// {"specversion":"1.0",
	// "id":"1",
	// "source":"https://shop.example.com/carts",
	// "type":"com.example.cart.paid",
	// "datacontenttype":"application/json",
	// "data":{"Total":12}}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
