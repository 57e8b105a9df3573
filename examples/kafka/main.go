package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	// On a cluster this is kafka.Open(ctx, nil) with KAFKA_BOOTSTRAP_SERVERS set, and nothing else changes.
	backend, err := kafkalocal.Open(ctx, &kafkalocal.Options{Kafka: &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Partitions: 1},
	}})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "payments",
		&godwit.ConsumerOptions{Ordered: true, Concurrency: 100})
	check(err)
	payments, err := godwit.NewProducer(ctx, backend, "payments", &godwit.ProducerOptions{Ordered: true})
	check(err)

	const accounts, each = 100, 10
	var ms []godwit.Message
	for n := range each {
		for account := range accounts {
			ms = append(ms, godwit.Message{OrderKey: "account " + strconv.Itoa(account), Body: []byte(strconv.Itoa(n))})
		}
	}
	check(payments.SendBatch(ctx, ms))

	var mu sync.Mutex
	next := map[string]int{} // the next payment of each account
	left := accounts * each
	report, err := consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		n, err := strconv.Atoi(string(d.Body))
		switch {
		case err != nil:
			return godwit.Permanent(err)
		case n != next[d.OrderKey]:
			return godwit.Fatal(fmt.Errorf("%s: payment %d came when %d was expected", d.OrderKey, n, next[d.OrderKey]))
		case n == 5 && d.Attempt == 1:
			return godwit.RetryAfter(0, errors.New("the bank is busy")) // its account waits, the others go on
		}
		next[d.OrderKey]++
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	check(err)
	fmt.Printf("%d payments handled, each account's in order, %d of them at their second attempt\n", report.Handled,
		report.Retried)
	check(payments.Close(context.Background()))
	check(backend.Close(context.Background()))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
