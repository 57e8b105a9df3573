package main

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// The types of the wishlist's messages.
const (
	typeAdded   = "wish.added"
	typeGranted = "wish.granted"
)

// Added is a new wish.
type Added struct {
	User string `json:"user"`
	Item string `json:"item"`
}

// Granted is a wish that came true.
type Granted struct {
	User string `json:"user"`
	By   string `json:"by"`
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	p, err := godwit.NewProducer(ctx, backend, "wishlist", &godwit.ProducerOptions{Ordered: true})
	check(err)
	added := godwit.NewSender[Added](p, godwit.JSON).WithType(typeAdded, 1)
	granted := godwit.NewSender[Granted](p, godwit.JSON).WithType(typeGranted, 1)
	check(added.Send(ctx, Added{User: "ada", Item: "a kite"}, godwit.Message{OrderKey: "ada"}))
	check(granted.Send(ctx, Granted{User: "ada", By: "bob"}, godwit.Message{OrderKey: "ada"}))

	router, err := godwit.NewRouter(map[string]godwit.Handler{
		typeAdded: godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[Added]) error {
			fmt.Printf("%s wants %s\n", d.Value.User, d.Value.Item)
			return nil
		}),
		typeGranted: godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[Granted]) error {
			fmt.Printf("%s made it true for %s\n", d.Value.By, d.Value.User)
			stop()
			return nil
		}),
	})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "wishlist", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	_, err = consumer.Run(ctx, router.Serve)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
