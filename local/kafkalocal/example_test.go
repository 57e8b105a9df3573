package kafkalocal_test

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// Kafka in this process. On a cluster the line is kafka.Open(ctx, nil), and nothing else changes.
func ExampleOpen() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := kafkalocal.Open(ctx, nil)
	check(err)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)
	check(payments.Send(ctx, godwit.Message{OrderKey: "ada", Body: []byte("5 euros")}))
	consumer, err := godwit.NewConsumer(ctx, backend, "payments", &godwit.ConsumerOptions{Ordered: true})
	check(err)
	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("%s pays %s\n", d.OrderKey, d.Body)
		stop()
		return nil
	})
	check(err)
	check(backend.Close(context.Background()))
	// Output:
	// ada pays 5 euros
}

// check ends an example that cannot continue.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
