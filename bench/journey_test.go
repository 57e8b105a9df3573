package bench

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// senders is the number of goroutines that send. It is large enough to keep several full batches of ten in flight.
const senders = 64

// BenchmarkJourney sends and handles b.N messages. It reports the time of a message, and the requests it needs.
func BenchmarkJourney(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		for _, concurrency := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("body=%d/handlers=%d", size, concurrency), func(b *testing.B) {
				journey(b, bytes.Repeat([]byte("k"), size), concurrency)
			})
		}
	}
}

func journey(b *testing.B, body []byte, concurrency int) {
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	backend, err := local.Open(ctx, nil)
	check(b, err)
	defer func() { check(b, backend.Close(b.Context())) }()
	p, err := godwit.NewProducer(ctx, backend, "orders", nil)
	check(b, err)
	defer func() { check(b, p.Close(b.Context())) }()
	c, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Concurrency: concurrency})
	check(b, err)

	before := requests(backend)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	b.ResetTimer()
	var sending sync.WaitGroup
	var taken, handled atomic.Int64
	for range senders {
		sending.Go(func() {
			for taken.Add(1) <= int64(b.N) {
				if err := p.Send(b.Context(), godwit.Message{Body: body}); err != nil {
					b.Error(err)
					stop()
				}
			}
		})
	}
	_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
		if handled.Add(1) == int64(b.N) {
			stop()
		}
		return nil
	})
	check(b, err)
	sending.Wait()
	b.StopTimer()
	if n := handled.Load(); n < int64(b.N) {
		b.Errorf("handled %d of %d messages", n, b.N)
	}
	b.ReportMetric(float64(requests(backend)-before)/float64(b.N), "requests/op")
}

func requests(backend *local.Backend) int {
	n := 0
	for _, calls := range backend.Server().Calls() {
		n += calls
	}
	return n
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
