package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/ops"
)

// The broker of this example runs in the process. On a cluster, Open(ctx, nil) uses the brokers in
// KAFKA_BOOTSTRAP_SERVERS.
func ExampleOpen() {
	ctx, stop := context.WithCancel(context.Background())
	broker, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{Addr: "127.0.0.1:0"})
	check(err)
	defer broker.Close()
	backend, err := kafka.Open(ctx, &kafka.Options{Brokers: []string{broker.Addr()}})
	check(err)

	consumer, err := godwit.NewConsumer(ctx, backend, "payments", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("5 euros")}))
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("7 euros")}))

	left := 2
	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s pays %s\n", d.OrderKey, d.Body)
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	check(err)
	// Output:
	// ada pays 5 euros
	// ada pays 7 euros
}

// A retry that waits in a tier, which is a topic, does not delay its key: later records are handled meanwhile.
func ExampleRetries() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{
			Partitions: 1, Retries: kafka.RetryAlone, Tiers: []time.Duration{time.Second, time.Minute},
		},
		// the process would hold a shorter retry
	}})
	check(err)
	defer backend.Close(context.WithoutCancel(ctx))
	consumer, err := godwit.NewConsumer(ctx, backend, "payments", &godwit.ConsumerOptions{
		Ordered: true,
		Backoff: godwit.Constant(time.Minute),
	})
	check(err)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("5 euros")}))
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("7 euros")}))

	report, err := consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		if string(d.Body) == "5 euros" {
			return errors.New("the bank is busy")
		}
		fmt.Printf("%s pays %s\n", d.OrderKey, d.Body)
		stop()
		return nil
	})
	check(err)
	fmt.Printf("handled %d, retried %d\n", report.Handled, report.Retried)
	// Output:
	// ada pays 7 euros
	// handled 1, retried 1
}

// One channel needs no order, and has more consumers than partitions. The others keep the order of keys.
func ExampleChannelOptions() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{
		Channels: map[string]kafka.ChannelOptions{
			"mails": {Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare, Partitions: 1},
		},
	}})
	check(err)
	defer backend.Close(context.WithoutCancel(ctx))
	consumer, err := godwit.NewConsumer(ctx, backend, "mails", nil)
	check(err)
	mails, err := godwit.NewProducer(ctx, backend, "mails", nil)
	check(err)
	check(mails.Send(ctx, godwit.Message{Body: []byte("your order is on its way")}))

	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("mailed: %s\n", d.Body)
		stop()
		return nil
	})
	check(err)
	// Output:
	// mailed: your order is on its way
}

// Dead letters go back to their topic, for example after a bug was fixed.
func Example_requeue() {
	ctx := context.Background()
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Partitions: 1},
	}})
	check(err)
	defer backend.Close(ctx)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)
	consume := func(pay godwit.Handler) {
		running, stop := context.WithCancel(ctx)
		consumer, err := godwit.NewConsumer(ctx, backend, "payments", &godwit.ConsumerOptions{Ordered: true})
		check(err)
		_, err = consumer.Run(running, func(ctx context.Context, d *godwit.Delivery) error {
			stop()
			return pay(ctx, d)
		})
		check(err)
	}
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("5 euros")}))
	consume(func(context.Context, *godwit.Delivery) error {
		return godwit.Permanent(errors.New("no such currency"))
	})

	result, err := ops.Requeue(ctx, backend, "payments@dlq", nil)
	check(err)
	fmt.Println("moved", result.Moved, "shared", result.Shared)
	consume(func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s pays %s\n", d.OrderKey, d.Body)
		return nil
	})
	// Output:
	// moved 1 shared false
	// ada pays 5 euros
}

// A test keeps dead letters in memory and inspects them.
func ExampleMemoryDeadLetters() {
	ctx, stop := context.WithCancel(context.Background())
	var dead kafka.MemoryDeadLetters
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{DeadLetterQueue: &dead}})
	check(err)
	defer backend.Close(context.WithoutCancel(ctx))
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("5 euros")}))
	consumer, err := godwit.NewConsumer(ctx, backend, "payments", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	_, err = consumer.Run(ctx, func(context.Context, *godwit.Delivery) error {
		stop()
		return godwit.Permanent(errors.New("no such currency"))
	})
	check(err)
	for _, r := range dead.All() {
		fmt.Printf("%s of %s: %s\n", r.Record.Value, r.Record.Key, r.Death.Error)
	}
	// Output:
	// 5 euros of ada: no such currency
}

// check ends an example that cannot continue.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Each order results in one invoice, in one transaction with the order's completion. So there is one invoice for each
// order, also if the process crashes in between, for consumers of committed records.
func Example_transform() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Partitions: 1},
	}})
	check(err)
	defer backend.Close(context.WithoutCancel(ctx))
	orders, err := godwit.NewProducer(ctx, backend, "orders", &godwit.ProducerOptions{Ordered: true})
	check(err)
	invoices, err := godwit.NewProducer(ctx, backend, "invoices", &godwit.ProducerOptions{Ordered: true})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	accounting, err := godwit.NewConsumer(ctx, backend, "invoices", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("a kite")}))
	check(orders.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("a phone")}))

	done := make(chan error)
	go func() {
		_, err := godwit.Transform(ctx, consumer, invoices,
			func(_ context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
				return []godwit.Message{{OrderKey: d.OrderKey, Body: append([]byte("invoice for "), d.Body...)}}, nil
			})
		done <- err
	}()
	left := 2
	_, err = accounting.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s gets an %s\n", d.OrderKey, d.Body)
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	check(err)
	check(<-done)
	// Output:
	// ada gets an invoice for a kite
	// ada gets an invoice for a phone
}
