//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

const shortTier = "orders.orders.retry.5s"

// addPartitions is what an operator does.
func (w *world) addPartitions(topic string, count int) {
	w.Helper()
	answers, err := w.admin.UpdatePartitions(w.Context(), count, topic)
	if err == nil {
		_, err = answers.On(topic, nil)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.client.PurgeTopicsFromClient(topic)
}

func (w *world) partitions(topic string) int {
	w.Helper()
	all, err := w.admin.ListTopics(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	return len(all[topic].Partitions)
}

// Partitions were added to the topic while its consumer was away: the next start adds them to the tiers.
func TestTiersGrowAtTheStart(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Partitions: 2}}
		w.begin(o, driver.Events{}).end()
		w.addPartitions("orders", 4)
		l := w.begin(o, driver.Events{})
		if n := w.partitions(shortTier); n != 4 {
			t.Errorf("the tier has %d partitions, want 4", n)
		}
		w.send(3, "k=a")
		l.settle(driver.Retry, l.get(1)...)
		w.same(l.get(1), "a")
	})
}

// Who may not change topics says what is missing, and a topic that has fewer partitions than its tiers is refused.
func TestTiersOfAnotherSize(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Partitions: 2}}
		l := w.begin(o, driver.Events{})
		w.addPartitions("orders", 4)
		verify := driver.ChannelSpec{Channel: orders, Owner: true, Mode: driver.Verify}
		err := l.b.Ensure(w.Context(), verify)
		if err == nil || !strings.Contains(err.Error(), "has 2 partitions and needs 4") {
			t.Errorf("verify says %v", err)
		}
		w.addPartitions(shortTier, 6)
		auto := driver.ChannelSpec{Channel: orders, Owner: true}
		err = l.b.Ensure(w.Context(), auto)
		if err == nil || !strings.Contains(err.Error(), "partitions from 4 on") {
			t.Errorf("with more partitions in the tier: %v", err)
		}
	})
}

// A running consumer reads partitions that are added to its topic within seconds, and its tiers grow with the topic: a
// retry of a new partition comes back to the member that reads the partition.
func TestPartitionsAreAddedWhileConsumersRun(t *testing.T) {
	for _, protocol := range []kafka.GroupProtocol{kafka.GroupClassic, kafka.GroupConsumer} {
		inWorld(t, func(w *world) {
			o := kafka.Options{
				ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Partitions: 2, GroupProtocol: protocol},
			}
			l := w.begin(o, driver.Events{})
			w.send(0, "k=a")
			l.settle(driver.Retry, l.get(1)...)
			again := l.get(1) // the client knows the tier as it was
			w.same(again, "a")
			l.settle(driver.Done, again...)
			w.addPartitions("orders", 4)
			w.send(3, "k=b", "k=c")
			begun := time.Now()
			b := l.within(2, time.Minute)
			w.same(b, "b", "c")
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("a record of the new partition came after %v", took)
			}
			l.settle(driver.Retry, b...)
			for _, want := range []string{"b", "c"} {
				d := l.get(1)
				w.same(d, want)
				l.settle(driver.Done, d...)
			}
			if got := w.where(shortTier); !slices.Equal(got, []int32{0, 3, 3}) {
				t.Errorf("copies waited in partitions %v, want 0, 3 and 3", got)
			}
		})
	}
}

// where is which partitions the records of a topic are in.
func (w *world) where(topic string) (all []int32) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumeTopics(topic))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	for int64(len(all)) < w.count(topic) {
		fetches := c.PollFetches(w.Context())
		if err := fetches.Err(); err != nil {
			w.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, r.Partition) })
	}
	slices.Sort(all)
	return all
}

// When a record was sent, and when it failed for the first time, is known after each of its retries, also in another
// process, and when it was sent is known of its dead letter and no more when that goes back.
func TestTimesSurviveTiers(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}
		l := w.begin(o, driver.Events{})
		w.send(0, "k=a")
		time.Sleep(time.Minute)
		d := l.get(1)[0]
		sent, failed := d.SentAt, time.Now().Truncate(time.Millisecond)
		if !d.FirstFailure.IsZero() {
			t.Errorf("a record that has not failed failed at %v", d.FirstFailure)
		}
		retry := func(first time.Time) {
			t.Helper()
			s := driver.Settlement{
				Handle: d.Handle, Action: driver.Retry, After: 5 * time.Second, Attempt: d.Attempt + 1,
				FirstFailure: first,
			}
			if err := l.recv.Settle(w.Context(), []driver.Settlement{s}); err != nil {
				t.Fatal(err)
			}
			d = l.get(1)[0]
			if !d.SentAt.Equal(sent) || !d.FirstFailure.Equal(failed) {
				t.Errorf("sent %v, failed first %v; want %v and %v", d.SentAt, d.FirstFailure, sent, failed)
			}
		}
		retry(failed)
		l.end()
		l = w.begin(o, driver.Events{})
		d = l.get(1)[0]
		retry(d.FirstFailure)
		retry(d.FirstFailure)
		l.settle(driver.Reject, d)
		dead := l.deadLetter()
		if !dead.SentAt.Equal(sent) {
			t.Errorf("the dead letter was sent at %v, want %v", dead.SentAt, sent)
		}
		if r := l.raw(ordersDead); len(r.Headers) == 0 || r.Timestamp.Before(failed.Add(10*time.Second)) {
			t.Errorf("the dead letter has the time %v, by which its topic keeps it", r.Timestamp)
		}
	})
}

// The first of several failures is known to the consumer that rejects the record, although it is another process.
func TestFirstFailureOfADeadLetter(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone, Partitions: 1}}
		var failed, rejected time.Time
		run := func(attempts int) {
			t.Helper()
			b := w.backend(o)
			over := make(chan *godwit.Delivery, 10)
			c, err := godwit.NewConsumer(w.Context(), b, "orders", &godwit.ConsumerOptions{
				MaxAttempts: attempts, Backoff: godwit.Constant(5 * time.Second),
				Hooks: godwit.Hooks{Ended: func(d *godwit.Delivery, _ godwit.Verdict, _ error, _ time.Duration) {
					over <- d
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(w.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error { return errors.New("no") })
				ended <- err
			}()
			<-over
			rejected = time.Now()
			time.Sleep(2 * time.Second)
			cancel()
			if err := errors.Join(<-ended, b.Close(context.Background())); err != nil {
				t.Fatal(err)
			}
		}
		w.begin(o, driver.Events{}).end()
		w.send(0, "a")
		run(9)
		failed = rejected
		run(1)
		l := w.begin(o, driver.Events{})
		if death := l.deadLetter().Origin.Death; !death.First.Equal(failed.Truncate(time.Millisecond)) ||
			death.Last.Sub(rejected).Abs() > time.Second || !rejected.After(failed.Add(4*time.Second)) {
			t.Errorf("first failure %v, last %v; want %v and %v", death.First, death.Last, failed, rejected)
		}
	})
}

// deadLetter receives the only dead letter of orders.
func (l *life) deadLetter() driver.Delivery {
	l.w.Helper()
	dead, err := l.b.Receiver(l.w.Context(), driver.Channel{Queue: "orders", DeadLetter: true},
		driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
	if err != nil {
		l.w.Fatal(err)
	}
	defer dead.Close(l.w.Context())
	var ds []driver.Delivery
	for begun := time.Now(); len(ds) == 0 && time.Since(begun) < time.Minute; {
		if ds, err = dead.Receive(l.w.Context(), driver.Ask{Max: 1}, ds); err != nil {
			l.w.Fatal(err)
		}
	}
	if len(ds) == 0 {
		l.w.Fatal("there is no dead letter")
	}
	return ds[0]
}

// raw is the first record of a topic.
func (l *life) raw(topic string) *kgo.Record {
	l.w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(l.w.cluster.ListenAddrs()...), kgo.Dialer(l.w.network.DialContext),
		kgo.ConsumeTopics(topic))
	if err != nil {
		l.w.Fatal(err)
	}
	defer c.Close()
	fetches := c.PollFetches(l.w.Context())
	if rs := fetches.Records(); fetches.Err() == nil && len(rs) > 0 {
		return rs[0]
	}
	l.w.Fatalf("topic %s: %v", topic, fetches.Err())
	return nil
}
