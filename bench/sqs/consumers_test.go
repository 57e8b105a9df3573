//go:build unix

package sqs

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/awssnssqs"

	"github.com/godwitmq/godwit"
)

// consuming is a way to consume a queue with a number of workers, until ctx ends.
type consuming struct {
	name string
	run  func(ctx context.Context, t *testing.T, c *cloud, queue string, workers int, handle func(body string))
}

var (
	fromHand      = consuming{"hand-batched loop", runByHand}
	fromWatermill = consuming{"watermill's pattern", runSingly}
	fromGoCloud   = consuming{"gocloud", runGoCloud}
	fromGodwit    = consuming{"Godwit", godwitConsuming(godwit.ConsumerOptions{})}
	fromSaving    = consuming{"Godwit, SaveRequests", godwitConsuming(godwit.ConsumerOptions{SaveRequests: true})}
	consumers     = []consuming{fromHand, fromWatermill, fromGoCloud, fromGodwit}
)

// runByHand is a loop as users write it by hand, one for each ten workers: receive ten messages, handle them
// concurrently but those of one group in turn, and delete them in one request.
func runByHand(ctx context.Context, t *testing.T, c *cloud, queue string, workers int, handle func(string)) {
	url := c.url(queue)
	var loops sync.WaitGroup
	for first := 0; first < workers; first += 10 {
		n := int32(min(10, workers-first))
		loops.Go(func() {
			for ctx.Err() == nil {
				out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
					QueueUrl: &url, MaxNumberOfMessages: n, WaitTimeSeconds: 20,
					MessageSystemAttributeNames: []types.MessageSystemAttributeName{
						types.MessageSystemAttributeNameMessageGroupId,
					},
				})
				if err != nil || len(out.Messages) == 0 {
					continue
				}
				handleBatch(out.Messages, handle)
				in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
				for i, m := range out.Messages {
					in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{
						Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle,
					})
				}
				if _, err := c.sqs.DeleteMessageBatch(ctx, in); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	loops.Wait()
}

// handleBatch handles messages concurrently, and those of one group in turn.
func handleBatch(ms []types.Message, handle func(string)) {
	groups := map[string][]types.Message{}
	for i, m := range ms {
		group, ok := m.Attributes["MessageGroupId"]
		if !ok {
			group = "single " + strconv.Itoa(i)
		}
		groups[group] = append(groups[group], m)
	}
	var handlers sync.WaitGroup
	for _, of := range groups {
		handlers.Go(func() {
			for _, m := range of {
				handle(*m.Body)
			}
		})
	}
	handlers.Wait()
}

// runSingly does what watermill's subscriber for SQS does by default, with one subscription for each worker: receive
// one message, handle it, delete it.
func runSingly(ctx context.Context, t *testing.T, c *cloud, queue string, workers int, handle func(string)) {
	url := c.url(queue)
	var loops sync.WaitGroup
	for range workers {
		loops.Go(func() {
			for ctx.Err() == nil {
				out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
					QueueUrl: &url, MaxNumberOfMessages: 1,
					WaitTimeSeconds: 20,
				})
				if err != nil {
					continue
				}
				for _, m := range out.Messages {
					handle(*m.Body)
					if _, err := c.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{
						QueueUrl:      &url,
						ReceiptHandle: m.ReceiptHandle,
					}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			}
		})
	}
	loops.Wait()
}

// runGoCloud calls Receive in each worker, as the library's documentation advises. It polls with the longest wait that
// SQS allows; by default the library polls four times a second.
func runGoCloud(ctx context.Context, t *testing.T, c *cloud, queue string, workers int, handle func(string)) {
	sub := awssnssqs.OpenSubscription(ctx, c.sqs, c.url(queue), &awssnssqs.SubscriptionOptions{
		Raw:      true,
		WaitTime: 20 * time.Second,
	})
	var loops sync.WaitGroup
	for range workers {
		loops.Go(func() {
			for {
				m, err := sub.Receive(ctx)
				if err != nil {
					return
				}
				handle(string(m.Body))
				m.Ack()
			}
		})
	}
	loops.Wait()
	if c.transport != nil {
		drain(sub)
	}
	if err := sub.Shutdown(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// drain receives the messages that are left. The library keeps a goroutine for received messages that no worker takes,
// and virtual time does not end before that goroutine.
func drain(sub *pubsub.Subscription) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	for {
		m, err := sub.Receive(ctx)
		if err != nil {
			return
		}
		m.Ack()
	}
}

// godwitConsuming runs a Consumer. The workers and the order are added to its options.
func godwitConsuming(o godwit.ConsumerOptions) func(context.Context, *testing.T, *cloud, string, int, func(string)) {
	return func(ctx context.Context, t *testing.T, c *cloud, queue string, workers int, handle func(string)) {
		b := c.backend(t)
		channel, ordered := channelOf(queue)
		o := o
		o.Concurrency, o.Ordered = workers, ordered
		consumer, err := godwit.NewConsumer(ctx, b, channel, &o)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
			handle(string(d.Body))
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
