//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Records without a key are handled one after another in their partition, on a channel that is Ordered, and a warning
// says so; NullKeysSpread handles them concurrently, while keys keep their order.
func TestRecordsWithoutAKey(t *testing.T) {
	for name, c := range map[string]struct {
		keys   kafka.NullKeys
		warned bool
		least  time.Duration
		most   time.Duration
	}{
		"in order": {0, true, 12 * time.Second, time.Minute},
		"spread":   {kafka.NullKeysSpread, false, 0, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var log strings.Builder
				b := w.backend(kafka.Options{
					ChannelOptions: kafka.ChannelOptions{Partitions: 1, NullKeys: c.keys},
					Logger:         slog.New(slog.NewTextHandler(&log, nil)),
				})
				consumer, err := godwit.NewConsumer(w.Context(), b, "orders",
					&godwit.ConsumerOptions{Ordered: true, Concurrency: 10})
				if err != nil {
					t.Fatal(err)
				}
				for range 1_200 {
					w.send(0, "null")
				}
				w.send(0, "k=1", "k=2")
				var keyed []string
				handled := make(chan struct{}, 2_000)
				ctx, cancel := context.WithCancel(w.Context())
				ended := make(chan error, 1)
				begun := time.Now()
				go func() {
					_, err := consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
						time.Sleep(10 * time.Millisecond)
						if string(d.Body) != "null" {
							keyed = append(keyed, string(d.Body))
						}
						handled <- struct{}{}
						return nil
					})
					ended <- err
				}()
				for range 1_202 {
					<-handled
				}
				if took := time.Since(begun); took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
				cancel()
				if err := errors.Join(<-ended, b.Close(context.Background())); err != nil {
					t.Error(err)
				}
				if got := strings.Join(keyed, " "); got != "1 2" {
					t.Errorf("the records of a key were handled as %q", got)
				}
				if warned := strings.Contains(log.String(), "NullKeysSpread"); warned != c.warned {
					t.Errorf("the log is %q", log.String())
				}
			})
		})
	}
}

// A retry of a record without a key delays no other one.
func TestRetryOfARecordWithoutAKey(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{
				Partitions: 1, Retries: kafka.RetryPark, NullKeys: kafka.NullKeysSpread,
			},
		}
		l := w.begin(o, driver.Events{})
		err := l.recv.Close(w.Context())
		if err == nil {
			l.recv, err = l.b.Receiver(w.Context(), driver.Channel{Queue: "orders", Ordered: true},
				driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.send(0, "a", "b")
		ds := l.get(2)
		l.settle(driver.Retry, ds[0])
		w.send(0, "c")
		w.same(l.get(1), "c")
		w.same(l.get(1), "a")
	})
}
