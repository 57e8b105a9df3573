package godwit_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// streamHeap is what the heap may have in use beyond that before, with the embedded server.
const streamHeap = 32 << 20

// halfRandom is a body that is nowhere in memory; half of it can be compressed.
type halfRandom struct {
	random *rand.ChaCha8
	at     int64
}

func newHalfRandom() *halfRandom { return &halfRandom{random: rand.NewChaCha8([32]byte{})} }

func (h *halfRandom) Read(p []byte) (n int, _ error) {
	const block = 1 << 10
	for n < len(p) {
		part := p[n:min(len(p), n+block-int(h.at%block))]
		if h.at/block%2 == 0 {
			_, _ = h.random.Read(part) // it cannot fail
		} else {
			clear(part)
		}
		n, h.at = n+len(part), h.at+int64(len(part))
	}
	return n, nil
}

// A body of any size goes from a Reader through a producer, a consumer and a handler, one part at a time, also if it is
// compressed in the store.
func TestAStreamedBodyIsNotInMemory(t *testing.T) {
	for name, large := range map[string]snssqs.Large{
		"as it is": {}, "compressed": {Compression: snssqs.CompressionZstd},
	} {
		t.Run(name, func(t *testing.T) { streamBody(t, large) })
	}
}

// streamBody sends a large body through a server in this process.
func streamBody(t *testing.T, large snssqs.Large) {
	ctx, size := t.Context(), fullrun.Pick[int64](64<<20, 1<<30)
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	}
	store, err := s3store.Open(ctx, &s3store.Options{Bucket: "payloads", AWS: &conf, Transport: server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := snssqs.Open(ctx, &snssqs.Options{
		Store: store, Large: large, AWS: &conf, Transport: server.Transport(), CancelPolls: true,
	})
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
		body := io.LimitReader(newHalfRandom(), size)
		if err := p.Send(ctx, godwit.Message{Reader: body, Size: size}); err != nil {
			t.Fatal(err)
		}
		running, stop := context.WithCancel(ctx)
		_, err := c.Run(running, func(ctx context.Context, d *godwit.Delivery) error {
			defer stop()
			_, stored := server.S3().Bucket("payloads").Count()
			if small := stored < size*2/3; small != (large.Compression == snssqs.CompressionZstd) {
				t.Errorf("the object has %d bytes", stored)
			}
			r, err := d.Open(ctx)
			if err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, r) // its end is the end of the comparison with the hash
			if n != size {
				t.Errorf("%d bytes", n)
			}
			return errors.Join(err, r.Close())
		})
		if r := c.Report(); err != nil || r.Handled != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Logf("%d MiB in %d MiB of heap", size>>20, most>>20)
	if most > streamHeap {
		t.Errorf("%d bytes of heap in use for a body of %d, want at most %d", most, size, streamHeap)
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
