package snssqs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// mapped creates a foreign queue that dead-letters a message after so many receives, and a backend that maps orders to
// it.
func (w *world) mapped(ordered bool, receives int, o snssqs.Options) (queue string) {
	w.Helper()
	attributes, queue, dead := map[string]string{}, "theirs", "theirs_dead"
	if ordered {
		queue, dead, attributes["FifoQueue"] = queue+".fifo", dead+".fifo", "true"
	}
	for _, name := range []string{dead, queue} {
		if _, err := w.sqs.CreateQueue(w.Context(),
			&sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: attributes}); err != nil {
			w.Fatal(err)
		}
		attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, queueARN+dead,
			receives)
	}
	o.Names = map[string]snssqs.Resource{"orders": {Queue: w.url(queue), DeadLetters: queueARN + dead}}
	w.b = w.open(o)
	return queue
}

// If a queue's own redrive policy allows only a few receives, one warning gives the number, and the receiver takes only
// as many messages as handlers can start.
func TestScarceReceives(t *testing.T) {
	for _, c := range []struct {
		ordered               bool
		receives, concurrency int
		warns                 bool
		want                  driver.ReceiveLimits
	}{
		{receives: 3, concurrency: 10, warns: true, want: driver.ReceiveLimits{Batch: 1, Window: 10, Polls: 10}},
		{receives: 3, concurrency: 100, warns: true, want: driver.ReceiveLimits{Batch: 10, Window: 100, Polls: 10}},
		{
			receives: 9, concurrency: 100, ordered: true, warns: true,
			want: driver.ReceiveLimits{Batch: 1, Window: 100, Polls: 100},
		},
		{receives: 10, concurrency: 10, want: driver.ReceiveLimits{Batch: 10, Window: 20, Polls: 2}},
	} {
		for _, mode := range []driver.Mode{driver.Auto, driver.Verify, driver.Never} {
			inWorld(t, localaws.Options{}, func(w *world) {
				var log bytes.Buffer
				w.mapped(c.ordered, c.receives, snssqs.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				ch := driver.Channel{Queue: "orders", Ordered: c.ordered}
				s := owner(ch)
				s.Mode = mode
				w.ensure(s)
				w.ensure(driver.ChannelSpec{Channel: ch}) // a producer
				r, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: c.concurrency})
				if err != nil {
					t.Fatal(err)
				}
				w.receivers = append(w.receivers, r)
				if lim := r.Limits(); lim.Batch != c.want.Batch || lim.Window != c.want.Window ||
					lim.Polls != c.want.Polls {
					t.Errorf("%+v: batch %d, window %d, polls %d", c, lim.Batch, lim.Window, lim.Polls)
				}
				said := strings.Count(log.String(), "level=WARN")
				if c.warns != (said == 1) ||
					c.warns &&
						!strings.Contains(log.String(), fmt.Sprintf("maxReceiveCount=%d atLeast=10", c.receives)) {
					t.Errorf("%+v, mode %d: the log is %q", c, mode, log.String())
				}
			})
		}
	}
}

// Such a queue does not dead-letter a message that no handler saw, however often the consumer is stopped while a
// handler runs.
func TestStopsUseUpNoScarceReceives(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			queue := w.mapped(ordered, 5, snssqs.Options{Logger: slog.New(slog.DiscardHandler)})
			const n = 24
			for i := range n {
				in := &sqs.SendMessageInput{QueueUrl: aws.String(w.url(queue)), MessageBody: aws.String(fmt.Sprint(i))}
				if ordered {
					in.MessageGroupId, in.MessageDeduplicationId = aws.String(fmt.Sprint(i%3)), in.MessageBody
				}
				if _, err := w.sqs.SendMessage(w.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			started := map[string]bool{}
			run := func(h godwit.Handler, d time.Duration) {
				c, err := godwit.NewConsumer(w.Context(), w.b, "orders",
					&godwit.ConsumerOptions{Ordered: ordered, Concurrency: 2})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(w.Context(), d)
				defer cancel()
				if _, err := c.Run(ctx, h); err != nil {
					t.Error(err)
				}
			}
			for range 12 { // deployments, while handlers hang
				run(func(ctx context.Context, d *godwit.Delivery) error {
					mu.Lock()
					started[d.ID] = true
					mu.Unlock()
					<-ctx.Done()
					return context.Cause(ctx)
				}, 5*time.Second)
			}
			run(func(_ context.Context, d *godwit.Delivery) error {
				mu.Lock()
				defer mu.Unlock()
				started[d.ID] = true
				return nil
			}, time.Minute)
			if len(started) != n {
				t.Errorf("ordered %v: handlers saw %d of %d messages; the dead letters hold %s", ordered, len(started),
					n, w.attributes(strings.Replace(queue, "theirs", "theirs_dead", 1))["ApproximateNumberOfMessages"])
			}
		})
	}
}
