package godwit_test

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// Values instead of bytes, in the producer and in the handler.
func ExampleHandle() {
	type wish struct{ User, Item string }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	producer, err := godwit.NewProducer(ctx, backend, "wishes", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "wishes", nil)
	check(err)
	running, stop := context.WithCancel(ctx)

	wishes := godwit.NewSender[wish](producer, godwit.JSON)
	check(wishes.Send(ctx, wish{User: "ada", Item: "a kite"}, godwit.Message{}))

	handler := godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[wish]) error {
		fmt.Printf("%s wants %s (%s)\n", d.Value.User, d.Value.Item, d.ContentType)
		stop()
		return nil
	})
	_, err = consumer.Run(running, handler)
	check(err)
	// Output:
	// ada wants a kite (application/json)
}

// A typed sender makes messages for SendBatch.
func ExampleSender_Message() {
	type wish struct{ User, Item string }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	producer, err := godwit.NewProducer(ctx, backend, "wishes", &godwit.ProducerOptions{Ordered: true})
	check(err)
	wishes := godwit.NewSender[wish](producer, godwit.JSON)

	var batch []godwit.Message
	for _, w := range []wish{{"ada", "a kite"}, {"ada", "a string"}} {
		m, err := wishes.Message(w, godwit.Message{OrderKey: w.User})
		check(err)
		batch = append(batch, m)
	}
	check(producer.SendBatch(ctx, batch))
	fmt.Printf("%s\n", batch[1].Body)
	// Output:
	// {"User":"ada","Item":"a string"}
}

// A channel with messages of several types has a handler for each.
func ExampleRouter() {
	type added struct{ Item string }
	type granted struct{ By string }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	producer, err := godwit.NewProducer(ctx, backend, "wishlist", &godwit.ProducerOptions{Ordered: true})
	check(err)
	additions := godwit.NewSender[added](producer, godwit.JSON).WithType("wish.added", 1)
	grants := godwit.NewSender[granted](producer, godwit.JSON).WithType("wish.granted", 1)
	check(additions.Send(ctx, added{Item: "a kite"}, godwit.Message{}))
	check(grants.Send(ctx, granted{By: "bob"}, godwit.Message{}))

	running, stop := context.WithCancel(ctx)
	router, err := godwit.NewRouter(map[string]godwit.Handler{
		"wish.added": godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[added]) error {
			fmt.Println("wanted:", d.Value.Item)
			return nil
		}),
		"wish.granted": godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[granted]) error {
			fmt.Println("granted by:", d.Value.By)
			stop()
			return nil
		}),
	})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "wishlist", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	_, err = consumer.Run(running, router.Serve)
	check(err)
	// Output:
	// wanted: a kite
	// granted by: bob
}

// A loop over decoded values.
func ExampleDecode() {
	type wish struct{ User, Item string }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	producer, err := godwit.NewProducer(ctx, backend, "wishes", nil)
	check(err)
	wishes := godwit.NewSender[wish](producer, godwit.JSON)
	check(wishes.Send(ctx, wish{User: "ada", Item: "a kite"}, godwit.Message{}))
	consumer, err := godwit.NewConsumer(ctx, backend, "wishes", nil)
	check(err)

	for d, err := range godwit.Decode[wish](godwit.JSON, consumer.Deliveries(ctx)) {
		check(err)
		fmt.Printf("%s wants %s\n", d.Value.User, d.Value.Item)
		check(d.Done())
		break
	}
	_, err = consumer.Close(ctx)
	check(err)
	// Output:
	// ada wants a kite
}
