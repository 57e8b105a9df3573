//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The depth counts records that the group has not committed, and records in tiers. The group needs no member for that.
func TestDepth(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{Partitions: 2, Retries: kafka.RetryAlone}, driver.Events{})
		depth := func(want driver.Depth) {
			w.Helper()
			got, err := l.b.Inspect(w.Context(), orders)
			got.Oldest, got.Partitions = 0, nil
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				w.Errorf("%v, depth (-want +got):\n%s", err, diff)
			}
		}
		depth(driver.Depth{})
		w.send(0, "a", "b", "c")
		w.send(1, "d")
		depth(driver.Depth{Waiting: 4})
		ds := l.get(4)
		for _, d := range ds {
			if string(d.Body) != "c" {
				l.settle(driver.Done, d)
			} else {
				l.settle(driver.Retry, d)
			}
		}
		time.Sleep(2 * time.Second)
		depth(driver.Depth{Delayed: 1})
		l.settle(driver.Reject, l.get(1)...)
		time.Sleep(2 * time.Second)
		depth(driver.Depth{})
		dead := orders
		dead.DeadLetter = true
		if got, err := l.b.Inspect(w.Context(), dead); err != nil || got.Waiting != 1 {
			w.Errorf("dead letters: depth %+v, %v, want 1 waiting", got, err)
		}
		if _, err := l.b.Inspect(w.Context(),
			driver.Channel{Queue: "nowhere"}); driver.ClassOf(err) != driver.NotFound {
			w.Errorf("a channel that does not exist: %v", err)
		}
	})
}

// The mistake: finished records behind a stuck one count as waiting, so that an autoscaler sees a backlog that does not
// exist, and the age of the waiting records is unknown. Here the depth excludes the records that the commit has as
// finished, and has the age of each partition's first unfinished record. Oldest ignores a partition that is being
// worked on: a stuck record needs no more consumers.
func TestDepthWithoutWhatIsFinished(t *testing.T) {
	inWorld(t, func(w *world) {
		const n, stuck = 5000, 50
		l := w.begin(kafka.Options{Partitions: 3}, driver.Events{})
		want := func(want driver.Depth) {
			w.Helper()
			got, err := l.b.Inspect(w.Context(), orders)
			got.Oldest = got.Oldest.Round(time.Second)
			for i := range got.Partitions {
				got.Partitions[i].Oldest = got.Partitions[i].Oldest.Round(time.Second)
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				w.Errorf("%v, depth (-want +got):\n%s", err, diff)
			}
		}
		want(driver.Depth{}) // the age is unknown
		w.send(0, numbers(n)...)
		ds := l.get(n)
		l.settle(driver.Done, ds[stuck:]...)
		time.Sleep(2 * time.Minute)
		w.send(2, "late")
		time.Sleep(time.Minute)
		l.get(1)
		want(driver.Depth{
			Waiting: stuck + 1, Oldest: time.Minute,
			Partitions: []driver.PartitionDepth{
				{Partition: 0, Waiting: stuck, Oldest: 3 * time.Minute},
				{Partition: 2, Waiting: 1, Oldest: time.Minute},
			},
		})
		l.settle(driver.Done, ds[:stuck]...)
		time.Sleep(2 * time.Second)
		want(driver.Depth{
			Waiting: 1, Oldest: time.Minute + 2*time.Second,
			Partitions: []driver.PartitionDepth{{Partition: 2, Waiting: 1, Oldest: time.Minute + 2*time.Second}},
		})
	})
}

// Records behind a failing key count as waiting, although the commit stores them as one number.
func TestDepthBehindAKeyThatWaits(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 30_000
		l := w.begin(kafka.Options{}, driver.Events{})
		for i := range n {
			key := []byte{byte(i % 10)}
			w.client.Produce(w.Context(), &kgo.Record{Topic: "orders", Key: key, Value: []byte("x")}, nil)
		}
		if err := w.client.Flush(w.Context()); err != nil {
			w.Fatal(err)
		}
		l.end()
		b, err := kafka.Open(w.Context(), &kafka.Options{
			Brokers: w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(w.network.DialContext)}, Partitions: 1,
		})
		if err != nil {
			w.Fatal(err)
		}
		c, err := godwit.NewConsumer(w.Context(), b, "orders", &godwit.ConsumerOptions{MaxAttempts: 1000})
		if err != nil {
			w.Fatal(err)
		}
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				if d.OrderKey[0] == 3 {
					return godwit.RetryAfter(time.Minute, errors.New("no"))
				}
				return nil
			})
			ended <- err
		}()
		time.Sleep(10 * time.Second)
		got, err := b.Inspect(w.Context(), orders)
		if err != nil || got.Waiting < n/10-5 || got.Waiting > n/10+5 {
			w.Errorf("%d records wait, error %v, want %d", got.Waiting, err, n/10)
		}
		if d, err := c.Demand(w.Context()); err != nil || d.Consumers == 0 || len(d.Partitions) != 1 {
			w.Errorf("demand %+v, %v", d, err)
		}
		cancel()
		if err := errors.Join(<-ended, b.Close(context.Background())); err != nil {
			w.Error(err)
		}
	})
}
