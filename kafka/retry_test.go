//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A retry in a tier is delivered again when it is due and not earlier, with its number of starts.
func TestRetryNeverRetries(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}}, driver.Events{})
		w.send(0, "k=a")
		first := l.get(1)
		begun := time.Now()
		l.settle(driver.Retry, first...)
		again := l.get(1)
		w.same(again, "a")
		if took := time.Since(begun); took < 5*time.Second || took > 6*time.Second {
			w.Errorf("the retry was delivered after %v, want 5s", took)
		}
		if d := again[0]; d.ID != first[0].ID || d.Attempt != 1 || d.OrderKey != "k" {
			w.Errorf("the retry is %s with %d starts and key %q, was %s", d.ID, d.Attempt, d.OrderKey, first[0].ID)
		}
		l.settle(driver.Done, again...)
		l.nothing(time.Minute)
		if at, _ := w.committed(0); at != 1 {
			w.Errorf("committed %d, want 1", at)
		}
	})
}

// A retry survives the process: it is stored in its tier before its original is finished.
func TestRetryLostInACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}}
		l := w.begin(o, driver.Events{})
		w.send(0, "k=a")
		l.settle(driver.Retry, l.get(1)...)
		time.Sleep(2 * time.Second)
		l.crash()
		l = w.begin(o, driver.Events{})
		again := l.get(1)
		w.same(again, "a")
		if again[0].Attempt != 1 {
			w.Errorf("the retry has %d starts, want 1", again[0].Attempt)
		}
	})
}

// While a record of a key waits for its retry, later records of the key wait behind it, even if they arrive later.
// Other keys continue.
func TestParkedKeyOvertaken(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}
		w.begin(o, driver.Events{}).end()
		w.send(0, "k=1", "k=2")
		l := w.begin(o, driver.Events{})    // now one poll returns them together
		l.settle(driver.Retry, l.get(2)...) // the core retries the lane's later deliveries after its first one
		w.send(0, "k=3", "free=x")
		free := l.within(1, 2*time.Second)
		w.same(free, "x")
		l.settle(driver.Done, free...)
		one := l.get(1)
		w.same(one, "1")
		l.nothing(3 * time.Second)
		l.settle(driver.Retry, one...) // a second retry: 2 and 3 still wait behind it
		l.nothing(4 * time.Second)
		for _, want := range []string{"1", "2", "3"} {
			d := l.get(1)
			w.same(d, want)
			l.nothing(time.Second)
			l.settle(driver.Done, d...)
		}
		w.send(0, "k=4")
		begun := time.Now()
		w.same(l.get(1), "4")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("the key is free again, and its next record took %v", took)
		}
	})
}

// Later records of a key wait while one of the key is being handled: if that one fails, they would overtake it.
func TestKeyOvertakenWhileItFails(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}, driver.Events{})
		w.send(0, "k=1")
		one := l.get(1)
		w.send(0, "k=2", "free=x")
		w.same(l.get(1), "x")
		l.nothing(2 * time.Second)
		l.settle(driver.Retry, one...)
		l.nothing(4 * time.Second)
		one = l.get(1)
		w.same(one, "1")
		l.settle(driver.Done, one...)
		w.same(l.get(1), "2")
	})
}

// On a channel without order, records without a key do not wait for a retry.
func TestParkedWithoutAKey(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}, driver.Events{})
		w.send(0, "a")
		l.settle(driver.Retry, l.get(1)...)
		w.send(0, "b")
		begun := time.Now()
		w.same(l.get(1), "b")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("the other record took %v", took)
		}
		w.same(l.get(1), "a")
	})
}

// A parked key is still parked after a restart.
func TestParkedKeyOvertakenAfterARestart(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}
		l := w.begin(o, driver.Events{})
		w.send(0, "k=1")
		l.settle(driver.Retry, l.get(1)...)
		l.end()
		w.send(0, "k=2", "k=3")
		l = w.begin(o, driver.Events{})
		for _, want := range []string{"1", "2", "3"} {
			d := l.get(1)
			w.same(d, want)
			l.nothing(2 * time.Second)
			l.settle(driver.Done, d...)
		}
		l.nothing(time.Minute)
	})
}

// A retry in memory keeps its record unfinished: no commit passes it.
func TestRetryQueueInMemoryFollowedByACommit(t *testing.T) {
	inWorld(t, func(w *world) {
		q := &kafka.MemoryRetryQueue{}
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}, RetryQueue: q}
		w.begin(o, driver.Events{}).end()
		w.send(0, "k=1", "k=2", "j=x")
		l := w.begin(o, driver.Events{})
		ds := l.get(3)
		l.settle(driver.Retry, ds[0], ds[1])
		l.settle(driver.Done, ds[2])
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at > 0 {
			w.Errorf("committed %d past a retry that is only in this process", at)
		}
		if n := q.Waiting(); n != 2 {
			w.Errorf("%d records wait, want 2", n)
		}
		w.send(0, "k=3")
		for _, want := range []string{"1", "2", "3"} {
			d := l.get(1)
			w.same(d, want)
			l.nothing(time.Second)
			l.settle(driver.Done, d...)
		}
		time.Sleep(2 * time.Second)
		if at, _ := w.committed(0); at != 4 {
			w.Errorf("committed %d, want 4", at)
		}
	})
}

// A retry that is longer than the longest tier waits in it several times, until it is due, and its key waits as long.
func TestRetryBeyondTheLongestTier(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{
				Retries: kafka.RetryPark, Tiers: []time.Duration{5 * time.Second, time.Minute},
			},
		},
			driver.Events{})
		if most := l.recv.Limits().RetryMax; most < 24*time.Hour {
			t.Errorf("retries are cut to %v", most)
		}
		w.send(0, "k=a")
		d, begun := l.get(1)[0], time.Now()
		if err := l.recv.Settle(w.Context(), []driver.Settlement{{
			Handle: d.Handle, Action: driver.Retry, After: 3*time.Minute + 30*time.Second, Attempt: 1,
		}}); err != nil {
			t.Fatal(err)
		}
		w.send(0, "k=b")
		for _, want := range []string{"a", "b"} {
			again := l.within(1, 5*time.Minute)
			w.same(again, want)
			if took := time.Since(begun); took < 3*time.Minute+30*time.Second || took > 3*time.Minute+33*time.Second {
				t.Errorf("%s came after %v", want, took)
			}
			l.settle(driver.Done, again...)
		}
	})
}

// On a channel with order, a due time that another program wrote has no effect: it would let later records overtake.
func TestForeignDueTimeOfAnOrderedChannel(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		r := &kgo.Record{
			Topic: "orders", Key: []byte("k"), Value: []byte("1"),
			Headers: []kgo.RecordHeader{{Key: "godwit-due", Value: []byte("9999999999999")}},
		}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
		w.same(l.get(1), "1")
	})
}

// A record that cannot be moved behind the parked records of its key is neither lost nor overtaken: it stays in its
// partition, and is handled in its turn.
func TestParkedRecordThatCouldNotBeMoved(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{5 * time.Second}},
		}, driver.Events{})
		w.send(0, "k=1")
		l.settle(driver.Retry, l.get(1)...)
		fault := w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: "orders.orders.retry.5s",
			Err: kerr.TopicAuthorizationFailed,
		})
		w.send(0, "k=2")
		for ends := time.Now().Add(4 * time.Second); time.Now().Before(ends) && fault.Hits() == 0; {
			if ds, _ := l.recv.Receive(w.Context(), driver.Ask{Max: 1}, nil); len(ds) > 0 {
				w.Fatalf("%s overtook", texts(ds))
			}
		}
		if fault.Hits() == 0 {
			w.Fatal("no record was moved")
		}
		for _, want := range []string{"1", "2"} {
			d := l.get(1)
			w.same(d, want)
			l.settle(driver.Done, d...)
		}
		w.send(0, "k=3")
		begun := time.Now()
		w.same(l.get(1), "3")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("no record of the key is parked, and its next one took %v", took)
		}
	})
}

// A retry whose copy could not be written leaves no spot behind for which its key would wait.
func TestRetryThatCouldNotBeWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{5 * time.Second}},
		}, driver.Events{})
		w.send(0, "k=1")
		one := l.get(1)
		w.cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Topic: "orders.orders.retry.5s",
			Err: kerr.TopicAuthorizationFailed,
		})
		err := l.recv.Settle(w.Context(), []driver.Settlement{{
			Handle: one[0].Handle, Action: driver.Retry,
			After: time.Second,
		}})
		if driver.ClassOf(err) != driver.Denied {
			w.Fatalf("retry: %v, want that it is denied", err)
		}
		l.settle(driver.Reject, one...)
		w.send(0, "k=2")
		begun := time.Now()
		w.same(l.get(1), "2")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("no record of the key is parked, and its next one took %v", took)
		}
	})
}

// A dead letter in memory stops the commit, but not its key.
func TestParkedKeyAfterADeadLetterInMemory(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}, DeadLetterQueue: &kafka.MemoryDeadLetters{},
		}
		w.begin(o, driver.Events{}).end()
		w.send(0, "k=1", "k=2")
		l := w.begin(o, driver.Events{}) // now one poll returns them together
		l.settle(driver.Retry, l.get(2)...)
		one := l.get(1)
		w.same(one, "1")
		l.settle(driver.Reject, one...)
		w.same(l.get(1), "2")
	})
}
