//go:build unix

package kafka_test

import (
	"context"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/kafka"
)

// BenchmarkReceive measures the cost of a record in this backend, from poll to settle and commit, and for comparison
// that of a bare loop of franz-go. CPU is that of the whole process, with the broker's part, which both include.
func BenchmarkReceive(b *testing.B) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	const n = 400_000
	fill(b, cluster.ListenAddrs(), n)
	b.Run("client", func(b *testing.B) { each(b, n, func() { bare(b, cluster.ListenAddrs(), n) }) })
	b.Run("backend", func(b *testing.B) { each(b, n, func() { settling(b, cluster.ListenAddrs(), n) }) })
}

// BenchmarkDriver measures the cost of a message in the backend, in its client, and in a broker in the same process.
func BenchmarkDriver(b *testing.B) {
	drivertest.Benchmark(b, harness("key", kafka.Options{}, func(t testing.TB, o kafka.Options) driver.Backend {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		o.Brokers = cluster.ListenAddrs()
		backend, err := kafka.Open(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		return backend
	}))
}

func each(b *testing.B, n int, run func()) {
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		run()
	}
	records := float64(n) * float64(b.N)
	b.ReportMetric(float64(cpu(b)-began)/records, "cpu-ns/record")
	b.ReportMetric(records/b.Elapsed().Seconds(), "records/s")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func fill(b *testing.B, brokers []string, n int) {
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, 200)
	for i := range n {
		c.Produce(b.Context(), &kgo.Record{Topic: "orders", Key: []byte("k" + strconv.Itoa(i%1000)), Value: body}, nil)
	}
	if err := c.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func bare(b *testing.B, brokers []string, n int) {
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("bare"+strconv.FormatInt(time.Now().UnixNano(), 36)), kgo.ConsumeTopics("orders"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitMarks())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for got := 0; got < n; {
		fetches := c.PollRecords(b.Context(), 2000)
		fetches.EachRecord(func(r *kgo.Record) {
			got++
			c.MarkCommitRecords(r)
		})
	}
}

func settling(b *testing.B, brokers []string, n int) {
	back, err := kafka.Open(b.Context(), &kafka.Options{Brokers: brokers})
	if err != nil {
		b.Fatal(err)
	}
	r, err := back.Receiver(b.Context(), driver.Channel{Exchange: "orders", Queue: "settling" +
		strconv.FormatInt(time.Now().UnixNano(), 36)}, driver.ReceiverOptions{Concurrency: 100, Wait: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	var ds []driver.Delivery
	var ss []driver.Settlement
	for got := 0; got < n; {
		if ds, err = r.Receive(b.Context(), driver.Ask{Max: 2000}, ds[:0]); err != nil {
			b.Fatal(err)
		}
		ss = ss[:0]
		for i := range ds {
			ss = append(ss, driver.Settlement{Handle: ds[i].Handle})
		}
		if err := r.Settle(b.Context(), ss); err != nil {
			b.Fatal(err)
		}
		got += len(ds)
	}
	if err := r.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := back.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
