package snssqs_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// The options are for this example, which runs on the embedded server. On AWS, Open(ctx, nil) takes region and
// credentials from the environment.
func ExampleOpen() {
	ctx, stop := context.WithCancel(context.Background())
	server, err := localaws.New(nil)
	check(err)
	backend, err := snssqs.Open(ctx, &snssqs.Options{
		Namespace: "prod",
		AWS: &aws.Config{
			Region:      "eu-central-1",
			Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		},
		Transport:   server.Transport(),
		CancelPolls: true, // for the embedded server: a stop does not wait for an open poll
	})
	check(err)

	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil) // creates the queues
	check(err)
	orders, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(err)
	check(orders.Send(ctx, godwit.Message{Body: []byte("a kite")}))
	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s\n", d.Body)
		stop()
		return nil
	})
	check(err)
	// Output:
	// packed a kite
}

// A channel on a queue that exists already, under any name. Other programs may send to it. Godwit never changes it.
func ExampleResource() {
	ctx, stop := context.WithCancel(context.Background())
	server, err := localaws.New(nil)
	check(err)
	account := aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:  &http.Client{Transport: server.Transport()},
	}
	client := sqs.NewFromConfig(account)
	queue, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("Legacy_Orders")})
	check(err)
	failed, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("Legacy_Failed")})
	check(err)

	backend, err := snssqs.Open(ctx, &snssqs.Options{
		AWS:         &account,
		Transport:   server.Transport(),
		CancelPolls: true,
		Names: map[string]snssqs.Resource{
			"orders": {Queue: *queue.QueueUrl, DeadLetters: *failed.QueueUrl},
		},
	})
	check(err)
	_, err = client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: aws.String("a kite")})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "orders", nil)
	check(err)
	_, err = consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		fmt.Printf("packed %s\n", d.Body)
		stop()
		return nil
	})
	check(err)
	// Output:
	// packed a kite
}

// With a namespace several environments share an AWS account.
func ExampleOptions_namespace() {
	ctx := context.Background()
	server, err := localaws.New(nil)
	check(err)
	account := aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
		HTTPClient:  &http.Client{Transport: server.Transport()},
	}
	for _, namespace := range []string{"prod", "staging"} {
		backend, err := snssqs.Open(ctx, &snssqs.Options{
			Namespace: namespace, AWS: &account, Transport: server.Transport(),
		})
		check(err)
		_, err = godwit.NewConsumer(ctx, backend, "orders", nil)
		check(err)
		check(backend.Close(ctx))
	}
	queues, err := sqs.NewFromConfig(account).ListQueues(ctx, &sqs.ListQueuesInput{})
	check(err)
	for _, url := range queues.QueueUrls {
		fmt.Println(url[len("http://sqs.us-east-1.amazonaws.com/000000000000//"):])
	}
	// Output:
	// prod---orders
	// prod---orders--dlq
	// staging---orders
	// staging---orders--dlq
}

// check ends an example that cannot continue.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
