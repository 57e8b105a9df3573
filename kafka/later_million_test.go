//go:build synctests

package kafka_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// A process that takes over a million waiting messages of 100 bytes sends on the one that is due within ten seconds,
// and needs less than 100 MiB for all of them. The broker is in the same process, and its memory does not count.
func TestLaterMillion(t *testing.T) {
	n := fullrun.Pick(100_000, 1_000_000)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	open := func() *kafka.Backend {
		b, err := kafka.Open(t.Context(), &kafka.Options{
			Brokers: cluster.ListenAddrs(), ChannelOptions: kafka.ChannelOptions{Partitions: 4},
		})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Sender(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	soon, err := s.Prepare(t.Context(), &driver.Message{Body: []byte("soon"), Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, 100)
	for i := range n {
		r := &kgo.Record{Topic: "orders.later", Partition: int32(i % 4), Key: []byte("k"), Value: body}
		id := wire.LaterID{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24)}
		wire.Wait(r, id, time.Hour+time.Duration(i)*time.Millisecond, time.Time{})
		c.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(t.Context(), []driver.Prepared{soon}); err != nil {
		t.Fatal(err)
	}
	before, began := heap(), time.Now()
	r, err := b.Receiver(t.Context(), orders, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(context.WithoutCancel(t.Context())) }()
	var ds []driver.Delivery
	for len(ds) == 0 && time.Since(began) < time.Minute {
		if ds, err = r.Receive(t.Context(), driver.Ask{Max: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	used := heap() - before
	t.Logf("%d messages: ready after %v, %d KiB", n, took, used>>10)
	if fmt.Sprint(texts(ds)) != "[soon]" {
		t.Fatalf("received %v", texts(ds))
	}
	if took > 10*time.Second || used > 100<<20 {
		t.Errorf("%d messages: ready after %v, with %d MiB", n, took, used>>20)
	}
}

// heap is the memory in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
