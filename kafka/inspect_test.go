//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// The depth counts records that the group has not committed, and records in tiers. The group needs no member for that.
func TestDepth(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2, Retries: kafka.RetryAlone},
		}, driver.Events{})
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
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}, driver.Events{})
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
			Brokers: w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(w.network.DialContext)},
			ChannelOptions: kafka.ChannelOptions{Partitions: 1},
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

// The ends of transactions, and the records of aborted ones, are in the log, and no consumer gets them. They are no
// backlog for a consumer that has finished all records before them.
func TestDepthWithoutTheEndsOfTransactions(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		transaction := w.transactions()
		waiting := func(want int64) {
			t.Helper()
			time.Sleep(2 * time.Second)
			if d, err := l.b.Inspect(w.Context(), orders); err != nil || d.Waiting != want {
				t.Errorf("%d records wait (%v), want %d", d.Waiting, err, want)
			}
		}
		transaction(kgo.TryCommit, record("a"))
		l.settle(driver.Done, l.get(1)...)
		waiting(0)
		for range 40 { // more than a fetch brings
			transaction(kgo.TryAbort, record("never"), record(strings.Repeat("never", 100)))
		}
		waiting(0)
		transaction(kgo.TryCommit, record("b"), record("c"))
		waiting(3) // with the end of the transaction behind them
		ds := l.get(2)
		w.same(ds, "b", "c")
		l.settle(driver.Done, ds...)
		waiting(0)
	})
}

// A requeue of dead letters that were written in transactions ends at the last of them, and sees all of them.
func TestRequeueOfTransactions(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		transaction := w.transactions()
		for i := range 30 {
			r := record(strconv.Itoa(i))
			r.Topic, r.Headers = ordersDead, []kgo.RecordHeader{{Key: "__dlq.errors.topic", Value: []byte("orders")}}
			transaction(kgo.TryCommit, r)
		}
		for _, want := range []int64{30, 0} {
			r, err := ops.Requeue(w.Context(), l.b, "orders@dlq", nil)
			if err != nil || r.Moved != want || r.Took > 15*time.Second {
				t.Errorf("%+v, %v, want %d moved", r, err, want)
			}
		}
		l.settle(driver.Done, l.get(30)...)
	})
}

// transactions opens a producer with transactions. The function that it returns makes one transaction.
func (w *world) transactions() func(how kgo.TransactionEndTry, rs ...*kgo.Record) {
	producer, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.TransactionalID("test"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(producer.Close)
	return func(how kgo.TransactionEndTry, rs ...*kgo.Record) {
		w.Helper()
		if err := errors.Join(producer.BeginTransaction(), producer.ProduceSync(w.Context(), rs...).FirstErr(),
			producer.EndTransaction(w.Context(), how)); err != nil {
			w.Fatal(err)
		}
	}
}

func record(text string) *kgo.Record { return &kgo.Record{Topic: "orders", Value: []byte(text)} }
