package godwit_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

var streamed = flag.Int64("streamed", 128<<20, "size of the body of TestAStreamedBodyIsNotInMemory")

// streamHeap is what the heap may have in use beyond that before, with the embedded server.
const streamHeap = 32 << 20

// counting is a body that is nowhere in memory.
type counting struct{ at int64 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c.at >> 10)
		c.at++
	}
	return len(p), nil
}

// A body of any size goes from a Reader through a producer, a consumer and a handler, one part at a time. With
// -streamed=1073741824 it is 1 GiB.
func TestAStreamedBodyIsNotInMemory(t *testing.T) {
	ctx := t.Context()
	backend, err := local.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backend.Close(context.WithoutCancel(ctx)) }()
	c, err := godwit.NewConsumer(ctx, backend, "orders", &godwit.ConsumerOptions{Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(ctx, backend, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.WithoutCancel(ctx)) }()
	most := heapPeak(func() {
		body := io.LimitReader(&counting{}, *streamed)
		if err := p.Send(ctx, godwit.Message{Reader: body, Size: *streamed}); err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		_, err := c.Run(running, func(ctx context.Context, d *godwit.Delivery) error {
			defer stop()
			r, err := d.Open(ctx)
			if err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, r) // its end is the end of the comparison with the hash
			if n != *streamed {
				t.Errorf("%d bytes", n)
			}
			return errors.Join(err, r.Close())
		})
		if r := c.Report(); err != nil || r.Handled != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Logf("%d MiB in %d MiB of heap", *streamed>>20, most>>20)
	if most > streamHeap {
		t.Errorf("%d bytes of heap in use for a body of %d, want at most %d", most, *streamed, streamHeap)
	}
}

// heapPeak is the most that the heap has in use while f runs, beyond that before.
func heapPeak(f func()) int64 {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse) //nolint:gosec // far below the limit
	}
	runtime.GC()
	before := heap()
	most, stop := before, make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				most = max(most, heap())
			}
		}
	})
	f()
	close(stop)
	watch.Wait()
	return most - before
}
