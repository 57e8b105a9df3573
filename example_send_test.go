package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// A message to an exchange goes to each of its consumers that wants it. The consumers come first: a message to an
// exchange without queues is lost.
func ExampleNewProducer() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	audit, err := godwit.NewConsumer(ctx, backend, "wishlist_events.audit_log", nil)
	check(err)
	mobile, err := godwit.NewConsumer(ctx, backend, "wishlist_events.mobile", &godwit.ConsumerOptions{
		Filter: godwit.Filter{Prefix: []string{"MOBILE."}},
	})
	check(err)

	wishes, err := godwit.NewProducer(ctx, backend, "wishlist_events.*", nil)
	check(err)
	check(wishes.Send(ctx, godwit.Message{RoutingKey: "MOBILE.APPLE", Body: []byte("a phone")}))
	check(wishes.Close(ctx))

	for _, consumer := range []*godwit.Consumer{audit, mobile} {
		running, stop := context.WithCancel(ctx)
		_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
			fmt.Printf("%s: %s\n", d.Channel, d.Body)
			stop()
			return nil
		})
		check(err)
	}
	// Output:
	// wishlist_events.audit_log: a phone
	// wishlist_events.mobile: a phone
}

// A consumer of an exchange receives the messages whose routing keys it wants.
func ExampleFilter() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	consumer, err := godwit.NewConsumer(ctx, backend, "wishlist_events.mobile", &godwit.ConsumerOptions{
		Ordered: true,
		Filter:  godwit.Filter{Prefix: []string{"MOBILE."}, Exact: []string{"END"}},
	})
	check(err)
	wishes, err := godwit.NewProducer(ctx, backend, "wishlist_events.*", &godwit.ProducerOptions{Ordered: true})
	check(err)
	for _, key := range []string{"BOOK.PAPERBACK", "MOBILE.APPLE", "MOBILE.PEAR", "ENDLESS", "END"} {
		check(wishes.Send(ctx, godwit.Message{RoutingKey: key, Body: []byte("a wish")}))
	}

	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Println(d.RoutingKey)
		if d.RoutingKey == "END" {
			stop()
		}
		return nil
	})
	check(err)
	// Output:
	// MOBILE.APPLE
	// MOBILE.PEAR
	// END
}

// SendBatch says which messages the service has not accepted. The others were accepted.
func ExampleProducer_SendBatch() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	defer orders.Close(ctx)

	messages := []godwit.Message{
		{Body: []byte("a kite")},
		{Body: []byte("a ball"), DedupID: "7"}, // only ordered channels remove duplicates
		{Body: []byte("a phone")},
	}
	err = orders.SendBatch(ctx, messages)
	var partly *godwit.SendBatchError
	if errors.As(err, &partly) {
		for i := range partly.Errs {
			fmt.Println("not accepted: message", i)
		}
	}
	fmt.Println("accepted:", orders.Report().Accepted)
	// Output:
	// not accepted: message 1
	// accepted: 2
}

// SendAsync returns before the service has answered. Results that wait share requests.
func ExampleProducer_SendAsync() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	defer orders.Close(ctx)

	var results []*godwit.Result
	for n := range 25 {
		r, err := orders.SendAsync(ctx, godwit.Message{Body: fmt.Append(nil, "order ", n)})
		check(err) // the message itself is at fault
		results = append(results, r)
	}
	for _, r := range results {
		check(r.Wait(ctx)) // the service has not accepted the message
	}
	fmt.Println("accepted:", orders.Report().Accepted)
	// Output:
	// accepted: 25
}

// A message with a delay can be received when the delay is over. Here the clock of the embedded server is moved.
func ExampleMessage_delay() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	reminders, err := godwit.NewProducer(ctx, backend, "reminders", nil)
	check(err)
	check(reminders.Send(ctx, godwit.Message{Body: []byte("the kiln is hot"), Delay: 10 * time.Minute}))

	consumer, err := godwit.NewConsumer(ctx, backend, "reminders", nil)
	check(err)
	for range 2 {
		demand, err := consumer.Demand(ctx)
		check(err)
		fmt.Println("can be received:", demand.Backlog)
		backend.Server().Advance(10 * time.Minute)
	}
	// Output:
	// can be received: 0
	// can be received: 1
}

// On an ordered channel of SQS a message that is sent twice within five minutes is delivered once. The receipt tells.
func ExampleReceipt() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)

	for range 2 {
		var receipt godwit.Receipt
		check(payments.Send(ctx, godwit.Message{
			Body: []byte("5 euros"), OrderKey: "ada", DedupID: "payment-4711", Receipt: &receipt,
		}))
		fmt.Println("duplicate:", receipt.Duplicate)
	}
	// Output:
	// duplicate: false
	// duplicate: true
}

// language is the key of a context's value.
type language struct{}

// A value of the sender's context travels in a header into the handler's context.
func ExampleCarry() {
	locale := godwit.Meta{
		Header: "locale",
		From: func(ctx context.Context) string {
			value, _ := ctx.Value(language{}).(string)
			return value
		},
		Into: func(ctx context.Context, value string) context.Context {
			return context.WithValue(ctx, language{}, value)
		},
	}
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	mails, err := godwit.NewProducer(ctx, backend, "mails", &godwit.ProducerOptions{
		Middleware: []godwit.SendMiddleware{godwit.Carry(locale)},
	})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "mails", &godwit.ConsumerOptions{
		Middleware: []godwit.Middleware{godwit.Restore(locale)},
	})
	check(err)

	german := context.WithValue(ctx, language{}, "de")
	check(mails.Send(german, godwit.Message{Body: []byte("your order is on its way")}))

	running, stop := context.WithCancel(ctx)
	_, err = consumer.Run(running, func(ctx context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s, in %v\n", d.Body, ctx.Value(language{}))
		stop()
		return nil
	})
	check(err)
	// Output:
	// your order is on its way, in de
}

// A schedule is sent by every process that has it, and each of its ticks comes once.
func ExampleEvery() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(context.Background())
	reports, err := godwit.NewConsumer(ctx, backend, "reports", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	for range 2 { // as in two processes
		producer, err := godwit.NewProducer(ctx, backend, "reports", &godwit.ProducerOptions{Ordered: true})
		check(err)
		go func() {
			check(godwit.Every(ctx, producer, godwit.Schedule{
				Name: "usage", Cron: "* * * * *", Message: func(tick time.Time) godwit.Message {
					return godwit.Message{Type: "report", Body: []byte(tick.Format(time.RFC3339))}
				},
			}))
		}()
	}

	_, err = reports.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		if ctx.Err() == nil { // the ticks of the last four minutes come at once
			fmt.Println("a", d.Type, "of", d.OrderKey)
		}
		stop()
		return nil
	})
	check(err)
	// Output:
	// a report of schedule/usage
}
