package godwit_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// stub is a backend that returns deliveries as fast as they are requested.
type stub struct {
	lim    driver.ReceiveLimits
	n      int
	keys   []string
	source driver.Source
	body   []byte
	given  atomic.Int64
}

func (s *stub) Sender(context.Context, driver.Channel) (driver.Sender, error) {
	return nil, driver.ErrClosed
}

func (s *stub) Receiver(context.Context, driver.Channel, driver.ReceiverOptions) (driver.Receiver, error) {
	return s, nil
}
func (s *stub) Close(context.Context) error  { return nil }
func (s *stub) As(driver.Handle, any) bool   { return false }
func (s *stub) Limits() driver.ReceiveLimits { return s.lim }

func (s *stub) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	from := int(s.given.Add(int64(ask.Max))) - ask.Max
	if from >= s.n {
		<-ctx.Done()
		return into, nil
	}
	ends := time.Now().Add(s.lim.Lease)
	for i := from; i < min(from+ask.Max, s.n); i++ {
		into = append(into, driver.Delivery{
			OrderKey: s.keys[i%len(s.keys)], Body: s.body, Received: 1,
			LeaseEnds: ends, Source: &s.source, Handle: driver.Handle{Ref: s, Seq: uint64(i)},
		})
	}
	return into, nil
}

func (s *stub) Settle(context.Context, []driver.Settlement) error { return nil }

func (s *stub) Extend(context.Context, []driver.Handle, time.Duration) (time.Time, error) {
	return time.Now().Add(s.lim.Lease), nil
}

// BenchmarkDispatch measures a delivery's way through places, lane, bus, worker and settler, with leases and the
// processing timeout, and a handler that does nothing.
func BenchmarkDispatch(b *testing.B) {
	for _, bc := range []struct {
		name             string
		workers          int
		batch, window    int
		settle, keyCount int
		ordered          bool
	}{
		{"queue/8workers", 8, 10, 1200, 10, 1000, false},
		{"queue/1000workers", 1000, 10, 1200, 10, 1000, false},
		{"ordered/8workers/1000keys", 8, 10, 1200, 10, 1000, true},
		{"log/8workers/1000keys", 8, 5000, 16384, 0, 1000, true},
		{"log/8workers/1000000keys", 8, 5000, 1 << 20, 0, 1_000_000, true},
	} {
		b.Run(bc.name, func(b *testing.B) {
			keys := []string{""}
			if bc.ordered {
				keys = make([]string, bc.keyCount)
				for i := range keys {
					keys[i] = "key " + strconv.Itoa(i)
				}
			}
			s := &stub{n: b.N, keys: keys, body: make([]byte, 200), lim: driver.ReceiveLimits{
				Batch: bc.batch, SettleBatch: bc.settle, Window: bc.window, RetryMax: time.Hour,
				Lease: 30 * time.Second,
			}}
			c, err := godwit.NewConsumer(b.Context(), s, "orders",
				&godwit.ConsumerOptions{Ordered: bc.ordered, Concurrency: bc.workers, MaxBytes: 1 << 40})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			var handled atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			if _, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
				if handled.Add(1) == int64(b.N) {
					stop()
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			if handled.Load() != int64(b.N) {
				b.Fatalf("handled %d of %d", handled.Load(), b.N)
			}
		})
	}
}
