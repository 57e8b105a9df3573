package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/snssqs"
)

// docs/habits.md and docs/migrating.md show the code of this file; a test of internal/house compares them.

// A program of your own whose queues and topics stay as they are (docs/migrating.md).
func Example_migratingFromSQS() {
	ctx := context.Background()
	backend, err := snssqs.Open(ctx, &snssqs.Options{Names: map[string]snssqs.Resource{
		"orders":    {Queue: "Legacy_Orders"},                                           // a name, a URL or an ARN
		"invoices":  {Queue: "arn:aws:sqs:eu-west-1:123456789012:Legacy_Invoices.fifo"}, // with ConsumerOptions.Ordered
		"news.*":    {Topic: "Legacy_News"},
		"news.mail": {Queue: "Legacy_Mail"},
	}})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Concurrency: 20})
	check(err)
	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s\n", d.Body) // the loop's own code; nil deletes the message
		return nil
	})
	check(err)
}

// A program of your own whose topics and groups stay as they are (docs/migrating.md).
func Example_migratingFromKafka() {
	ctx := context.Background()
	backend, err := kafka.Open(ctx, &kafka.Options{Names: map[string]kafka.Resource{
		"orders": {Topic: "Shop.Orders_v1", Group: "billing", DeadLetters: "Shop.Orders.DLT"},
	}})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	_, err = consumer.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil })
	check(err)
}

// A consumer that replaces one of several programs of another client in their group (docs/migrating.md).
func Example_besideOtherClients() {
	ctx := context.Background()
	backend, err := kafka.Open(ctx, &kafka.Options{
		Names:    map[string]kafka.Resource{"orders": {Topic: "Shop.Orders_v1", Group: "billing"}},
		Channels: map[string]kafka.ChannelOptions{"orders": {Assignor: kafka.AssignorRange}},
	})
	check(err)
	_, err = godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
}

// A handler of Watermill that retries, and publishes what it makes.
func Example_watermill() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	running, stop := context.WithCancel(ctx)

	invoices, err := godwit.NewProducer(ctx, backend, "invoices", nil)
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		MaxAttempts:       5,                                                       // middleware.Retry
		Backoff:           godwit.Exponential(100*time.Millisecond, 1*time.Minute), // middleware.Retry
		ProcessingTimeout: 30 * time.Second,                                        // middleware.Timeout
	})
	check(err)
	handler := func(ctx context.Context, d *godwit.Delivery) error {
		defer stop() // one order is enough here
		invoice := godwit.Message{Body: append([]byte("an invoice for "), d.Body...)}
		return invoices.Send(ctx, invoice) // nil is Ack, and an error is Nack
	}

	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	report, err := consumer.Run(running, handler)
	check(err)
	fmt.Println("handled", report.Handled)
	// Output:
	// handled 1
}

// A loop over a subscription of gocloud.
func Example_gocloud() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)

	topic, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(topic.Send(ctx, godwit.Message{
		Body: []byte("a kite"), Headers: godwit.Headers{{Name: "user", Value: "ada"}}, // Metadata
	}))

	subscription, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	for d, err := range subscription.Deliveries(ctx) { // Receive
		check(err)
		fmt.Printf("%s for %s\n", d.Body, d.Headers.Value("user"))
		check(d.Done()) // Ack
		break
	}
	_, err = subscription.Close(ctx) // Shutdown
	check(err)
	// Output:
	// a kite for ada
}

// Two tasks of Celery.
func Example_celery() {
	type mail struct{ To string }
	type picture struct{ Width int }
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	running, stop := context.WithCancel(ctx)

	tasks, err := godwit.NewRouter(map[string]godwit.Handler{ // @app.task(name=…)
		"mail.send": godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[mail]) error {
			if d.Value.To == "" {
				return godwit.Permanent(errors.New("no address")) // Reject(requeue=False)
			}
			fmt.Println("a mail to", d.Value.To)
			stop()
			return nil
		}),
		"picture.resize": godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[picture]) error {
			fmt.Println("a picture of", d.Value.Width)
			return nil
		}),
	})
	check(err)
	queue, err := godwit.NewProducer(ctx, backend, "tasks", nil)
	check(err)
	mails := godwit.NewSender[mail](queue, godwit.JSON)
	check(mails.Send(ctx, mail{To: "ada"}, godwit.Message{Type: "mail.send"})) // apply_async

	worker, err := godwit.NewConsumer(ctx, backend, "tasks", &godwit.ConsumerOptions{Concurrency: 8}) // -c 8
	check(err)
	_, err = worker.Run(running, tasks.Serve)
	check(err)
	// Output:
	// a mail to ada
}

// A listener of Spring.
func Example_spring() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	defer backend.Close(ctx)
	template, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	running, stop := context.WithCancel(ctx)

	type order struct{ ID, Item string }
	listener := godwit.Handle(godwit.JSON, func(_ context.Context, d godwit.Typed[order]) error {
		if d.Value.Item == "" {
			return godwit.Permanent(errors.New("an order of nothing")) // addNotRetryableExceptions
		}
		fmt.Printf("order %s: %s\n", d.Value.ID, d.Value.Item)
		stop()
		return nil
	})
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{
		Concurrency: 10,                           // maxConcurrentMessages, or concurrency of each partition
		Backoff:     godwit.Constant(time.Second), // new FixedBackOff(1000, 2): three attempts
	})
	check(err)

	orders := godwit.NewSender[order](template, godwit.JSON)
	check(orders.Send(ctx, order{ID: "17", Item: "a kite"}, godwit.Message{}))
	_, err = consumer.Run(running, listener)
	check(err)
	// Output:
	// order 17: a kite
}
