//go:build synctests

package kafka_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: Finish takes no lock of the receiver, so the poll in flight does not notice it, although a message of
// the same key waits only for it. Here the message is delivered at once.
func TestFinishingEndsAWait(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{
				Partitions: 1, Retries: kafka.RetryPark, Tiers: []time.Duration{time.Minute},
			},
		},
			driver.Events{})
		w.send(0, "k=a")
		a := l.get(1)
		w.send(0, "k=b")
		l.nothing(2500 * time.Millisecond) // the next record is in this process, but a can still fail
		const after = 300 * time.Millisecond
		time.AfterFunc(after, func() { l.recv.(driver.Finisher).Finish(a[0].Handle) })
		begun := time.Now()
		w.same(l.get(1), "b")
		if took := time.Since(begun); took > after+50*time.Millisecond {
			w.Errorf("the next record of the key was delivered %v after a was finished", took-after)
		}
	})
}

// A partition with a long log and slow handlers leaves places for other partitions, keeps no more of its log in memory
// than that, and continues when its messages are settled.
func TestAPartitionLeavesPlacesToOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		const n, places = 100_000, 16_384
		polled := &polledCount{}
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2}, Client: []kgo.Opt{kgo.WithHooks(polled)},
		}, driver.Events{})
		w.flood(kgo.Record{Topic: "orders"}, n)
		var held []driver.Delivery
		for ds := l.within(2000, 2*time.Second); len(ds) > 0; ds = l.within(2000, 2*time.Second) {
			held = append(held, ds...)
		}
		if len(held) < places/4 || len(held) > places*5/8 {
			w.Fatalf("one of two partitions got %d of %d places", len(held), places)
		}
		if got := polled.n.Load(); got > n/2 {
			w.Errorf("%d of %d records were taken, and %d can be handled", got, n, len(held))
		}
		w.send(1, "free")
		begun := time.Now()
		ds := l.get(1)
		w.same(ds, "free")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("a record of another partition took %v", took)
		}
		l.settle(driver.Done, ds...)
		got := 0
		for len(held) > 0 {
			got += len(held)
			l.settle(driver.Done, held...)
			held = l.within(2000, 3*time.Second)
		}
		if got != n {
			w.Errorf("%d of %d records were delivered", got, n)
		}
	})
}

// Places that one partition returns are available to another partition at once, even if none of its own records was
// settled.
func TestAPartitionGetsWhatOthersLeave(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 8}}, driver.Events{})
		w.flood(kgo.Record{Topic: "orders", Partition: 1}, 4000)
		others := l.get(4000)
		w.flood(kgo.Record{Topic: "orders"}, 50_000)
		had := 0
		for ds := l.within(2000, 2*time.Second); len(ds) > 0; ds = l.within(2000, 2*time.Second) {
			had += len(ds)
		}
		settled := make(chan time.Time, 1)
		go func() {
			time.Sleep(300 * time.Millisecond)
			settled <- time.Now()
			l.settle(driver.Done, others...)
		}()
		ds, err := l.recv.Receive(w.Context(), driver.Ask{Max: 2000}, nil)
		if err != nil || len(ds) < 1000 || time.Since(<-settled) > 100*time.Millisecond {
			w.Errorf("behind %d records, the poll that waited brought %d, %v", had, len(ds), err)
		}
	})
}

// flood writes n records like one. Their bodies cannot be compressed, because otherwise one fetch would bring all
// of them.
func (w *world) flood(like kgo.Record, n int) {
	w.Helper()
	noise := rand.NewChaCha8([32]byte{})
	for range n {
		r := like
		r.Value = make([]byte, 100)
		_, _ = noise.Read(r.Value)
		w.client.Produce(w.Context(), &r, nil)
	}
	if err := w.client.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// A record is settled and its memory used for the next one, while a test still reads the delivery that was decoded from
// it.
func TestSettledRecordsAreUsedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 50_000
		l := w.begin(kafka.Options{}, driver.Events{})
		for i := range n {
			text := strconv.Itoa(i)
			w.client.Produce(w.Context(), &kgo.Record{
				Topic: "orders", Key: []byte("key " + text), Value: []byte(text),
				Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("header " + text)}},
			}, nil)
		}
		if err := w.client.Flush(w.Context()); err != nil {
			w.Fatal(err)
		}
		var all []driver.Delivery
		for len(all) < n {
			ds := l.get(min(2000, n-len(all)))
			l.settle(driver.Done, ds...)
			all = append(all, ds...)
		}
		for i, d := range all {
			text := strconv.Itoa(i)
			if string(d.Body) != text || d.OrderKey != "key "+text || len(d.Header) != 1 ||
				d.Header[0].Value != "header "+text || d.ID != "orders/0/"+text {
				w.Fatalf("record %d is %q of key %q with headers %v and id %s", i, d.Body, d.OrderKey, d.Header, d.ID)
			}
		}
	})
}
