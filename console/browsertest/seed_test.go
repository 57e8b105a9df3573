package browsertest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// busy is a backend with rates and ages of its own, because a service's would need hours.
type busy struct {
	driver.Backend
	rates map[string][2]float64 // sent and done a second
	ages  map[string]time.Duration
}

func (b *busy) Operations() driver.Operations {
	do := driver.OperationsOf(b.Backend)
	do.Inspect = b.Inspect
	do.Activity = func(_ context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
		all := make([]driver.Activity, len(cs))
		for i, c := range cs {
			seconds := time.Since(since).Seconds()
			r := b.rates[c.String()]
			n := func(rate float64) driver.Reading[int64] { return driver.Reading[int64]{Value: int64(rate * seconds)} }
			all[i] = driver.Activity{
				Channel: c, Since: since, Until: time.Now(), Sent: n(r[0]), Received: n(r[1]), Deleted: n(r[1]),
				EmptyReceives: n(0.1), SentBytes: n(r[0] * float64(len(c.Queue)*8<<10)),
				Consumers: driver.Reading[int64]{Err: driver.ErrNotCounted},
				Oldest:    driver.Reading[time.Duration]{Value: b.ages[c.String()]},
			}
		}
		return all, nil
	}
	return do
}

func (b *busy) Inspect(ctx context.Context, c driver.Channel) (driver.Depth, error) {
	d, err := driver.OperationsOf(b.Backend).Inspect(ctx, c)
	d.Oldest = b.ages[c.String()]
	return d, err
}

// history writes a file of six hours, as ops.Sampler reads it.
func (w *world) history(b *busy, depths map[string]float64) string {
	w.Helper()
	var text bytes.Buffer
	text.WriteString("godwit-history 1\n")
	z := gzip.NewWriter(&text)
	const points = 1400
	for name, depth := range depths {
		ch := driver.Channel{Queue: name}
		if exchange, queue, ok := strings.Cut(name, "."); ok {
			ch = driver.Channel{Exchange: exchange, Queue: queue, Ordered: true}
		}
		line, err := json.Marshal(map[string]any{"channel": ch, "last": time.Now(), "points": points})
		if err != nil {
			w.Fatal(err)
		}
		_, _ = z.Write(append(line, '\n'))
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(name))
		phase := float64(sum.Sum32()%628) / 100
		for i := range points {
			t := float64(i) / points
			wave := 0.7 + 0.25*math.Sin(9*t+phase) + 0.08*math.Sin(61*t+2*phase)
			grown := 1.0
			if b.ages[name] > 15*time.Minute {
				grown = math.Max(0, (t-0.55)/0.45)
			}
			age := float32(b.ages[name].Seconds() * grown * grown)
			one := struct {
				After  uint16
				Values [6]float32
			}{15, [6]float32{
				float32(depth * wave * grown), float32(depth * 0.15 * wave), float32(depth * 0.05), age,
				float32(b.rates[name][0] * wave), float32(b.rates[name][1] * wave * (0.92 + 0.06*math.Sin(30*t))),
			}}
			if err := binary.Write(z, binary.LittleEndian, one); err != nil {
				w.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		w.Fatal(err)
	}
	file := filepath.Join(w.TempDir(), "history")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		w.Fatal(err)
	}
	return file
}

// work runs a consumer some of whose handlers are slow, until the test ends, and returns its report.
func (w *world) work() *ops.Workers {
	w.Helper()
	own, err := ops.NewWorkers(nil)
	if err != nil {
		w.Fatal(err)
	}
	uploads := driver.Channel{Queue: "uploads", Ordered: true}
	w.ensure(uploads, nil)
	c, err := godwit.NewConsumer(w.Context(), w.b, "uploads", &godwit.ConsumerOptions{
		Ordered: true, Concurrency: 12, ProcessingTimeout: 20 * time.Second, ShutdownTimeout: 6 * time.Second,
		Hooks: own.Hooks("uploads"), Logger: slog.New(slog.DiscardHandler), Provision: godwit.ProvisionNever,
	})
	if err != nil {
		w.Fatal(err)
	}
	var ms []driver.Message
	for i := range 120 {
		ms = append(ms, driver.Message{
			OrderKey: []string{"acme", "globex", "initech", "umbrella", "hooli", "stark", "wayne"}[i*i%7],
			Body:     body(i),
		})
	}
	w.send(uploads, ms...)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
			takes := time.Duration(20+7*len(d.OrderKey)) * time.Millisecond
			if d.OrderKey == "globex" || d.OrderKey == "hooli" {
				takes = time.Minute // it is stuck
			}
			select {
			case <-time.After(takes):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	w.Cleanup(func() {
		stop()
		<-ended
	})
	return own
}
