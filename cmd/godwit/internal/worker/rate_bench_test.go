package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/worker"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// BenchmarkRate measures how many messages a second a consumer ends with 8 handlers in Go, and with 8 worker processes,
// and the ratio of the two. The handlers do nothing, or use a processor for 10 or 100 µs. The time begins with the
// first message, because to join a group of Kafka takes longer than to handle ten thousand messages. Use -benchtime
// 20000x or more, so that the pool is as large as it becomes.
func BenchmarkRate(b *testing.B) {
	for name, open := range map[string]func(ctx context.Context) (godwit.Backend, error){
		"local":  func(ctx context.Context) (godwit.Backend, error) { return local.Open(ctx, nil) },
		"kafka":  func(ctx context.Context) (godwit.Backend, error) { return kafkalocal.Open(ctx, nil) },
		"memory": func(context.Context) (godwit.Backend, error) { return memdriver.Open(nil) },
	} {
		for _, us := range []int{0, 10, 100} {
			b.Run(fmt.Sprintf("%s/%dus", name, us), func(b *testing.B) {
				inGo := rate(b, open, us, nil, func(_ context.Context, d *godwit.Delivery) error {
					_, number, _ := strings.Cut(string(d.Body), " ")
					spin(number)
					return nil
				})
				var c *godwit.Consumer
				p, err := worker.NewPool(b.Context(), worker.PoolOptions{
					Command: self(b, "ahead"), Workers: benchWorkers, Channel: "orders", Timeout: time.Minute,
					Backoff: constant, Output: &worker.Lines{To: io.Discard},
					Resize: func(n int) { _ = c.SetConcurrency(n) },
				})
				if err != nil {
					b.Fatal(err)
				}
				inWorkers := rate(b, open, us, &c, p.Handle)
				if err := p.Close(); err != nil {
					b.Error(err)
				}
				b.ReportMetric(inGo, "go/s")
				b.ReportMetric(inWorkers, "worker/s")
				b.ReportMetric(inWorkers/inGo, "ratio")
			})
		}
	}
}

const benchWorkers = 8

// rate sends b.N messages that ask for so many microseconds, and returns how many a second a consumer ends.
func rate(b *testing.B, open func(context.Context) (godwit.Backend, error), us int, its **godwit.Consumer,
	handle godwit.Handler,
) float64 {
	backend, err := open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = backend.Close(context.Background()) }()
	p, err := godwit.NewProducer(b.Context(), backend, "orders", nil)
	if err != nil {
		b.Fatal(err)
	}
	c, err := godwit.NewConsumer(b.Context(), backend, "orders", &godwit.ConsumerOptions{
		Concurrency: benchWorkers, Logger: slog.New(slog.DiscardHandler), WaitTime: -1,
	})
	if err != nil {
		b.Fatal(err)
	}
	if its != nil {
		*its = c
	}
	all := make([]godwit.Message, b.N)
	for i := range all {
		all[i].Body = fmt.Appendf(nil, `spin %d {"amount": %d, "customer": "c-%d"}`, us, i, i%100)
	}
	if err := p.SendBatch(b.Context(), all); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var first sync.Once
	var begun time.Time
	var done atomic.Int64
	var took time.Duration
	if _, err = c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		first.Do(func() { begun = time.Now() })
		err := handle(ctx, d)
		if done.Add(1) == int64(b.N) {
			took = time.Since(begun)
			stop()
		}
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return float64(b.N) / took.Seconds()
}
