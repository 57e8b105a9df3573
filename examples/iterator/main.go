package main

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

func main() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil)
	check(err)
	jobs, err := godwit.NewProducer(ctx, backend, "jobs", &godwit.ProducerOptions{Ordered: true})
	check(err)
	for n := range 5 {
		check(jobs.Send(ctx, godwit.Message{Body: fmt.Appendf(nil, "job %d", n)}))
	}
	take(ctx, backend, "early shift", 2)
	take(ctx, backend, "late shift", 3)
}

// take handles a number of jobs and leaves the others.
func take(ctx context.Context, backend *local.Backend, who string, jobs int) {
	consumer, err := godwit.NewConsumer(ctx, backend, "jobs", &godwit.ConsumerOptions{Name: who, Ordered: true})
	check(err)
	for d, err := range consumer.Deliveries(ctx) {
		check(err) // an error of receiving, or of a verdict that the service refused
		fmt.Printf("%s: %s\n", who, d.Body)
		check(d.Done()) // queued, and sent in a batch
		if jobs--; jobs == 0 {
			break
		}
	}
	_, err = consumer.Close(ctx) // waits for the last verdicts, and returns their errors
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
