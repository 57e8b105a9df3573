//go:build synctests

package kafka_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
		o := kafka.Options{Retries: kafka.RetryPark, Partitions: 2}
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
		o := kafka.Options{Retries: kafka.RetryPark, Partitions: 2}
		l := w.begin(o, driver.Events{})
		w.addPartitions("orders", 4)
		verify := driver.ChannelSpec{Channel: orders, Owner: true, Mode: driver.Verify}
		if err := l.b.Ensure(w.Context(), verify); err == nil || !strings.Contains(err.Error(), "has 2 partitions and needs 4") {
			t.Errorf("verify says %v", err)
		}
		w.addPartitions(shortTier, 6)
		auto := driver.ChannelSpec{Channel: orders, Owner: true}
		if err := l.b.Ensure(w.Context(), auto); err == nil || !strings.Contains(err.Error(), "partitions from 4 on") {
			t.Errorf("with more partitions in the tier: %v", err)
		}
	})
}

// A running consumer reads partitions that are added to its topic within seconds, and its tiers grow with the topic: a
// retry of a new partition comes back to the member that reads the partition.
func TestPartitionsAreAddedWhileConsumersRun(t *testing.T) {
	for _, protocol := range []kafka.GroupProtocol{kafka.GroupClassic, kafka.GroupConsumer} {
		inWorld(t, func(w *world) {
			o := kafka.Options{Retries: kafka.RetryPark, Partitions: 2, GroupProtocol: protocol}
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
